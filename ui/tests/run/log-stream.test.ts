import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import type { LogEntry, LogPage } from '@/api/types'
import { translate } from '@/i18n'
import { cutWords, wordsOf } from '@/run/log-bar'
import { folded, isHidden } from '@/run/log-rows'
import { EVERYTHING, FILE_ENTRIES_MAX, fileOf, joined, KEPT_MAX, lineOf, LogFollower, type LogQuery, type LogState, NOTHING, queryOf } from '@/run/log-stream'
import { formatClock } from '@/time/format'

function entry(text: string, at: number, more: Partial<LogEntry> = {}): LogEntry {
  return { at, text, level: null, guess: null, task: 'r~a.1', attempt: 1, channel: 'log', ...more }
}

const page = (items: LogEntry[], next: string | null = null, position: string | null = null): LogPage => ({ items, next, position })

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A follower of pages by cursor: `newest` for the first. */
function following(pages: Record<string, LogPage | Error>) {
  const asked: LogQuery[] = []
  let state: LogState = NOTHING
  const read = (query: LogQuery) => {
    asked.push(query)
    const found = pages[String(query.cursor ?? query.order)] ?? page([], null, String(query.cursor))
    return found instanceof Error ? Promise.reject(found) : Promise.resolve(found)
  }
  const follower = new LogFollower(read, { level: 'error' }, (next) => (state = next))
  return { follower, asked, pages, state: () => state, texts: () => state.entries.map((one) => one.text) }
}

test('the newest come first, then what is older on demand and what is later by itself', async () => {
  const many = Array.from({ length: 100 }, (_, at) => entry(`new ${at}`, 100 + at))
  const stream = following({ newest: page(many, 'older', 'here'), older: page([entry('old', 1)]) })
  stream.follower.start()
  stream.follower.nudge(true)
  await vi.advanceTimersByTimeAsync(0)
  expect(stream.asked[0]).toMatchObject({ order: 'newest', level: 'error' })
  expect([stream.state().loaded, stream.state().earlier]).toEqual([true, true])
  await vi.advanceTimersByTimeAsync(300)
  stream.pages.here = page([entry('later', 300)], 'more', 'more')
  stream.pages.more = page([entry('last', 301)], null, 'end')
  await vi.advanceTimersByTimeAsync(2500)
  expect(stream.texts().slice(-1), 'nobody has told of it yet').toEqual(['new 99'])
  stream.follower.nudge(true)
  await vi.advanceTimersByTimeAsync(200)
  expect(stream.texts().slice(-3)).toEqual(['new 99', 'later', 'last'])
  stream.follower.earlier()
  await vi.advanceTimersByTimeAsync(0)
  expect(stream.texts()[0]).toBe('old')
  expect(stream.state().earlier).toBe(false)
  expect(new Set(stream.state().entries.map((one) => one.key)).size).toBe(103)
  stream.follower.stop()
})

test('under a filter that finds little, older pages are read until there is something', async () => {
  const stream = following({ newest: page([], 'p1', 'here'), p1: page([], 'p2'), p2: page([entry('found', 5)]) })
  stream.follower.start()
  await vi.advanceTimersByTimeAsync(0)
  expect(stream.texts()).toEqual(['found'])
  expect([stream.state().loaded, stream.state().earlier]).toEqual([true, false])
  stream.follower.stop()
})

test('a run that has ended is looked at a few more times, and one that is stopped never again', async () => {
  const stream = following({ newest: page([entry('one', 1)], null, 'here') })
  stream.follower.start()
  stream.follower.nudge(false)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(stream.asked.length).toBeGreaterThan(1)
  expect(stream.asked.length).toBeLessThan(6)
  const before = stream.asked.length
  stream.follower.nudge(true)
  stream.follower.stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(stream.asked.length).toBe(before)
})

test('what could not be read is read again, and what is on the page stays', async () => {
  const stream = following({ newest: page([entry('one', 1)], null, 'here'), here: new Error('away') })
  stream.follower.start()
  stream.follower.nudge(true)
  await vi.advanceTimersByTimeAsync(2500)
  expect(stream.state().error).toBeInstanceOf(Error)
  expect(stream.texts()).toEqual(['one'])
  stream.pages.here = page([entry('two', 2)], null, 'there')
  await vi.advanceTimersByTimeAsync(2500)
  expect(stream.state().error).toBeNull()
  expect(stream.texts()).toEqual(['one', 'two'])
  stream.follower.stop()
})

test('a page that follows for long keeps a bounded part', async () => {
  const stream = following({ newest: page([entry('first', 1)], null, 'here') })
  stream.follower.start()
  stream.follower.nudge(true)
  await vi.advanceTimersByTimeAsync(0)
  stream.pages.here = page(Array.from({ length: KEPT_MAX }, (_, at) => entry(String(at), 2 + at)), null, 'there')
  await vi.advanceTimersByTimeAsync(12_000)
  expect(stream.texts(), 'also where the news of it were lost').toHaveLength(KEPT_MAX)
  expect(stream.texts()[0]).toBe('0')
  stream.follower.stop()
})

test('what arrives late stands at its time', () => {
  const keyed = (text: string, at: number, key: number) => ({ ...entry(text, at), key })
  const old = [keyed('a', 1, 1), keyed('c', 3, 2)]
  expect(joined(old, [keyed('b', 2, 3), keyed('d', 4, 4)]).map((one) => one.text)).toEqual(['a', 'b', 'c', 'd'])
  expect(joined(old, [keyed('e', 3, 5)]).map((one) => one.text)).toEqual(['a', 'c', 'e'])
  expect(joined(old, [])).toBe(old)
})

test('a filter is asked of the server, and named in words', () => {
  const t = (text: Parameters<typeof translate>[1], values?: Parameters<typeof translate>[2]) => translate('en', text, values)
  const wanted = { find: ' ink ', task: 'r~a.1', attempt: '2', level: 'error' } as const
  expect(queryOf(wanted)).toEqual({ q: 'ink', task: 'r~a.1', attempt: '2', level: 'error' })
  expect(queryOf(EVERYTHING)).toEqual({ q: '', task: '', attempt: '', level: '' })
  expect(wordsOf(t, wanted, () => 'print')).toBe('Errors · print · attempt 2 · “ink”')
  expect(wordsOf(t, EVERYTHING, () => 'print')).toBe('')
})

test('the file has all pages, each entry with its time, level and task', async () => {
  const pages: Record<string, LogPage> = { '': page([entry('one', 0, { level: 'info' })], 'p2'), p2: page([entry('two\nlines', 1)]) }
  const { lines, cut } = await fileOf((query) => Promise.resolve(pages[String(query.cursor)] as LogPage), {}, () => 'a', new AbortController().signal)
  expect(lines).toEqual(['1970-01-01T00:00:00.000Z info a#1 one\n', '1970-01-01T00:00:00.001Z - a#1 two\nlines\n'])
  expect(cut).toBe(false)
  expect(lineOf(entry('x', 5), (id) => id)).toBe('1970-01-01T00:00:00.005Z - r~a.1#1 x')
})

test('a file that ends before the log does says so, in both languages', async () => {
  const full = Array.from({ length: 1000 }, (_, at) => entry('x', at))
  const pages = (left: number) => {
    let at = 0
    return () => Promise.resolve(page(full, (at += 1) < left ? `p${at}` : null))
  }
  const most = FILE_ENTRIES_MAX / 1000
  const signal = new AbortController().signal
  expect(await fileOf(pages(most), {}, () => 'a', signal)).toMatchObject({ cut: false, lines: { length: FILE_ENTRIES_MAX } })
  const file = await fileOf(pages(most + 1), {}, () => 'a', signal)
  expect([file.cut, file.lines.length]).toEqual([true, FILE_ENTRIES_MAX])
  const said = (language: string) => cutWords((text, values) => translate(language, text, values), file.lines.length)
  expect(said('en')).toBe('The file ends after the first 200,000 entries; there are later ones. Narrow the logs to have those.')
  expect(said('zh')).toBe('文件只包含最早的 200,000 条日志，之后还有更多。请缩小筛选范围以获取其余内容。')
})

test('a time of day is told to the millisecond', () => {
  expect(formatClock(Date.UTC(2026, 0, 2, 3, 4, 5, 67), 'utc', 'en-GB')).toBe('03:04:05.067')
})

test('a text of several lines is folded to its ends, and opens where what is looked for is between them', () => {
  const trace = ['Traceback', '  in print', 'InkError: empty']
  expect(folded(trace)).toBe('Traceback … InkError: empty')
  expect(folded(['one'])).toBe('one')
  expect(['print', 'inkerror', 'absent', ''].map((find) => isHidden(trace, find))).toEqual([true, false, false, false])
})

test('who is told again and again looks soon, and not only when it is quiet', async () => {
  const stream = following({ newest: page([], null, 'here') })
  stream.follower.start()
  await vi.advanceTimersByTimeAsync(0)
  for (let at = 0; at < 20; at += 1) {
    stream.follower.nudge(true)
    await vi.advanceTimersByTimeAsync(50)
  }
  expect(stream.asked.length).toBeGreaterThan(4)
  expect(stream.asked.length).toBeLessThan(12)
  stream.follower.stop()
})
