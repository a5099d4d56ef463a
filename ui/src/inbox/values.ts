/** The values that tell one question from another, out of what is shown for it and what its run was given. */

export interface KeyValue {
  name: string
  text: string
}

const ROWS_MAX = 12
const TEXT_MAX = 160

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPlain(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text
}

/** The values of an object that fit a line each; lists of plain values do, anything deeper does not. */
export function keyValues(value: unknown): KeyValue[] {
  if (isPlain(value) && value !== null && value !== '') return [{ name: '', text: textOf(value) }]
  if (!isObject(value)) return []
  return Object.entries(value)
    .filter(([, inner]) => isPlain(inner) || (Array.isArray(inner) && inner.every(isPlain)))
    .slice(0, ROWS_MAX)
    .map(([name, inner]) => ({ name, text: textOf(inner) }))
}

/** Whether the rows leave something out that is then shown as it is. */
export function saysAll(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  if (isPlain(value)) return true
  return isObject(value) && keyValues(value).length === Object.keys(value).length
}

/** A few words for a row of the list: `Müller GmbH · 900`. */
export function inShort(value: unknown): string {
  return keyValues(value)
    .map((one) => one.text)
    .filter((text) => text.length <= 40)
    .slice(0, 3)
    .join(' · ')
}
