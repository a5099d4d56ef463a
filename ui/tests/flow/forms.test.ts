import { expect, test } from 'vitest'

import { paramsOf, valueOf } from '@/flow/params'
import { isJson, lineOf } from '@/flow/places'

test.each([
  ['3', 3],
  ['[1, 2]', [1, 2]],
  ['"3"', '3'],
  ['plain text', 'plain text'],
  ['{"a": 1}', { a: 1 }],
  ['', undefined],
  ['null', null],
])('the field %s means %j', (text, value) => expect(valueOf(text)).toEqual(value))

test('fields win over further JSON, empty fields are left out', () => {
  expect(paramsOf({ x: '2', y: '' }, '{"x": 1, "z": 3}')).toEqual({ params: { x: 2, z: 3 }, problem: '' })
})

test.each(['[1]', '{', '3'])('further JSON that is no object is refused: %s', (more) => {
  expect(paramsOf({}, more).problem).not.toBe('')
})

const JSON_TEXT = `{
  "start": "a",
  "nodes": {
    "a": { "service": "x" },
    "b": {
      "kind": "nonsense"
    }
  },
  "edges": []
}`
const YAML_TEXT = 'start: a\nnodes:\n  a:\n    service: x\n  b:\n    kind: nonsense\n'

test.each([
  [JSON_TEXT, 'nodes.b.kind', 6],
  [JSON_TEXT, 'nodes.a', 4],
  [JSON_TEXT, 'edges[0].to', 9],
  [YAML_TEXT, 'nodes.b.kind', 6],
  [YAML_TEXT, 'nothing.here', 1],
])('a problem is shown at its line', (text, path, line) => expect(lineOf(text, path)).toBe(line))

test('JSON and YAML are told apart', () => {
  expect([isJson(JSON_TEXT), isJson(YAML_TEXT)]).toEqual([true, false])
})
