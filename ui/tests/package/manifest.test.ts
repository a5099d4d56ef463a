import { describe, expect, test } from 'vitest'

import { fieldsOf, readManifest, valueAt } from '@/package/manifest'
import { moveTo, tagsOf } from '@/package/versions'
import { formatBytes } from '@/parts/size'

const MANIFEST = {
  description: 'Tools',
  python: { requires: '>=3.11' },
  adapters: [{ name: 'functions', capabilities: ['text.echo'] }],
  nodes: [
    {
      type: 'text.echo',
      label: 'Echo',
      schema: { parameters: { properties: { message: { default: '' } } }, results: { properties: { echo: {} } } },
      ui: {
        inputPorts: [{ key: 'message', label: 'Message', binding: { path: 'parameters.message' } }],
        outputPorts: [{ key: 'echo', binding: { path: 'results.echo' } }],
      },
    },
  ],
}

test('a manifest gives its nodes with their ports', () => {
  const [node] = readManifest(MANIFEST).nodes
  expect(node?.inputs).toEqual([{ key: 'message', label: 'Message', path: 'parameters.message' }])
  expect(node?.outputs).toEqual([{ key: 'echo', label: '', path: 'results.echo' }])
  expect(node?.role).toBe('node')
})

test.each([[null], [undefined], ['text'], [[]], [{ nodes: 'no', adapters: 3 }], [{ nodes: [null, 1, {}] }]])(
  'a manifest that makes no sense breaks nothing: %j',
  (value) => {
    expect(() => readManifest(value)).not.toThrow()
    for (const node of readManifest(value).nodes) expect(node.inputs).toEqual([])
  },
)

test('the fields of a schema say their type, need and default', () => {
  const schema = {
    properties: { url: { type: 'string' }, how: { enum: ['a', 'b'], default: 'a' }, any: {}, two: { type: ['string', 'null'] } },
    required: ['url'],
  }
  expect(fieldsOf(schema)).toEqual([
    { name: 'url', type: 'string', required: true, standard: '' },
    { name: 'how', type: '"a" | "b"', required: false, standard: '"a"' },
    { name: 'any', type: 'any', required: false, standard: '' },
    { name: 'two', type: 'string | null', required: false, standard: '' },
  ])
  expect(fieldsOf('no')).toEqual([])
})

test('a port finds its value, however deep, or nothing', () => {
  const input = { page: { url: 'x' } }
  expect(valueAt(input, 'parameters.page.url')).toBe('x')
  expect(valueAt(input, 'parameters.page')).toEqual({ url: 'x' })
  expect(valueAt(input, 'parameters.page.url.more')).toBeUndefined()
  expect(valueAt(null, 'parameters.page')).toBeUndefined()
})

describe('versions', () => {
  const pack = { versions: ['2.0.0', '1.1.0', '1.0.0'], defaultVersion: '1.1.0', distTags: { latest: '1.1.0', old: '1.0.0', a: '1.0.0' } }

  test('an older version is a way back, a newer one a way on', () => {
    expect([moveTo(pack, '1.0.0'), moveTo(pack, '1.1.0'), moveTo(pack, '2.0.0')]).toEqual(['back', 'none', 'forward'])
  })

  test('tags are found by their version', () => {
    expect(tagsOf(pack, '1.0.0')).toEqual(['a', 'old'])
    expect(tagsOf(pack, '2.0.0')).toEqual([])
  })

  test('sizes are short', () => {
    expect([12, 2381, 4_500_000, 7_000_000_000].map(formatBytes)).toEqual(['12 B', '2.4 kB', '4.5 MB', '7.0 GB'])
  })
})
