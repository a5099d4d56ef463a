import { expect, test } from 'vitest'

import { piecesOf, plain } from '@/code/ansi'

const ESC = String.fromCharCode(27)

test('colours become pieces with a look, and end where they are ended', () => {
  expect(piecesOf(`a ${ESC}[31mred${ESC}[0m b`)).toEqual([
    { text: 'a ', look: '' },
    { text: 'red', look: 'text-bad' },
    { text: ' b', look: '' },
  ])
  expect(piecesOf(`${ESC}[1;4;92mok`)).toEqual([{ text: 'ok', look: 'text-ok font-bold underline' }])
})

test('colours of many and codes for the cursor leave no trace', () => {
  expect(piecesOf(`${ESC}[38;5;196mx${ESC}[38;2;1;2;3my${ESC}[2Kz`)).toEqual([
    { text: 'x', look: '' },
    { text: 'y', look: '' },
    { text: 'z', look: '' },
  ])
  expect(plain(`${ESC}[32mdone${ESC}[m!`)).toBe('done!')
})
