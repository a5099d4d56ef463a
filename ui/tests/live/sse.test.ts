import { expect, test } from 'vitest'

import { newsOf } from '@/live/connection'
import { SseParser } from '@/live/sse'

const TEXT = 'id: b-1\nevent: run\ndata: [{"runId":"r"}]\n\n: still here\n\nid: b-2\nevent: poke\ndata: []\n\n'

test('messages come out the same however the text is cut', () => {
  const whole = new SseParser().feed(TEXT)
  expect(whole.map((message) => [message.id, message.event])).toEqual([
    ['b-1', 'run'],
    ['b-2', 'poke'],
  ])
  for (let size = 1; size < 20; size += 1) {
    const parser = new SseParser()
    const found = []
    for (let at = 0; at < TEXT.length; at += size) found.push(...parser.feed(TEXT.slice(at, at + size)))
    expect(found).toEqual(whole)
  }
})

test('data over several lines is joined, carriage returns are taken', () => {
  expect(new SseParser().feed('data: a\r\ndata: b\r\n\r\n')).toEqual([{ id: '', event: 'message', data: 'a\nb' }])
})

test('what the stream does not promise is left out', () => {
  expect(newsOf({ id: '', event: 'hello', data: '[]' })).toBeNull()
  expect(newsOf({ id: '', event: 'reset', data: '[]' })).toEqual({ kind: 'reset' })
})
