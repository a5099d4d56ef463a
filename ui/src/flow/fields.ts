/** Fields of a form out of a JSON Schema: what to draw, and what the typed text means. */
import { valueOf } from './params'

export type FieldKind = 'text' | 'number' | 'boolean' | 'choice' | 'json'

export interface FieldSpec {
  name: string
  kind: FieldKind
  title: string
  hint: string
  required: boolean
  choices: string[]
  /** What holds where nothing is typed, as it is typed. */
  preset: string
  integer: boolean
}

type Json = Record<string, unknown>

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asText(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The fields a schema declares; those it requires first. */
export function fieldsOf(schema: unknown): FieldSpec[] {
  if (!isObject(schema) || !isObject(schema.properties)) return []
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const fields = Object.entries(schema.properties).map(([name, raw]): FieldSpec => {
    const one = isObject(raw) ? raw : {}
    const choices = Array.isArray(one.enum) ? one.enum.map(asText) : []
    return {
      ...{ name, choices, kind: kindOf(one, choices), required: required.has(name), preset: asText(one.default) },
      title: typeof one.title === 'string' ? one.title : name,
      hint: typeof one.description === 'string' ? one.description : '',
      integer: one.type === 'integer',
    }
  })
  return fields.sort((a, b) => Number(b.required) - Number(a.required))
}

function kindOf(schema: Json, choices: readonly string[]): FieldKind {
  if (choices.length > 0) return 'choice'
  if (schema.type === 'boolean') return 'boolean'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  return schema.type === 'string' ? 'text' : 'json'
}

/** What was typed into a field as a value; undefined leaves it out, so that the default holds. */
export function typedValue(field: FieldSpec, text: string): unknown {
  if (text === '' && (field.kind !== 'text' || !field.required)) return undefined
  switch (field.kind) {
    case 'text':
      return text
    case 'number':
      return Number(text)
    case 'boolean':
      return text === 'true'
    case 'choice':
    case 'json':
      return valueOf(text)
  }
}
