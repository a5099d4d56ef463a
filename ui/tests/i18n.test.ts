import { expect, test } from 'vitest'

import { translate } from '@/i18n'
import { zh } from '@/i18n/zh'
import { STATES } from '@/parts/status'

test('every placeholder of a text is in its translation', () => {
  const names = (text: string) => [...text.matchAll(/\{\w+\}/g)].map((match) => match[0]).sort()
  for (const [english, chinese] of Object.entries(zh)) expect(names(chinese), english).toEqual(names(english))
})

test('values are put in', () => {
  expect(translate('en', '{n} match', { n: 3 })).toBe('3 match')
  expect(translate('zh', '{n} match', { n: 3 })).toBe('3 个匹配')
})

test('every state that is shown has a Chinese word', () => {
  for (const state of STATES) expect(zh, state).toHaveProperty([state])
})
