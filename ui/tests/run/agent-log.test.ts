import { expect, test } from 'vitest'

import { utterancesOf } from '@/run/agent-log'

test('what an agent thinks, calls and is answered is told apart from what it says', () => {
  expect(utterancesOf('… I need the rate\n→ look_up {"x":1}\n← look_up 4\n\nIt is 4.\n')).toEqual([
    { voice: 'thought', text: 'I need the rate' },
    { voice: 'call', text: 'look_up {"x":1}' },
    { voice: 'answer', text: 'look_up 4' },
    { voice: 'word', text: 'It is 4.' },
  ])
})

test('of a long log the end is shown', () => {
  const said = utterancesOf(Array.from({ length: 2000 }, (_, at) => `line ${at}`).join('\n'))
  expect(said.length).toBeLessThan(2000)
  expect(said.at(-1)?.text).toBe('line 1999')
})
