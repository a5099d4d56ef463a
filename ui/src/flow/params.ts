/** Parameters from a form: JSON where it reads as JSON, plain text otherwise. */

export function valueOf(text: string): unknown {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  try {
    return JSON.parse(trimmed) as unknown
  } catch {
    return text
  }
}

export interface Params {
  params: Record<string, unknown>
  problem: string
}

/** Fields and further JSON together; a field wins over the same key in the JSON. */
export function paramsOf(fields: Record<string, string>, more: string): Params {
  const params: Record<string, unknown> = {}
  if (more.trim()) {
    try {
      const parsed = JSON.parse(more) as unknown
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
        return { params, problem: 'parameters are an object, such as {"x": 1}' }
      }
      Object.assign(params, parsed)
    } catch (error) {
      return { params, problem: (error as Error).message }
    }
  }
  for (const [name, text] of Object.entries(fields)) {
    const value = valueOf(text)
    if (value !== undefined) params[name] = value
  }
  return { params, problem: '' }
}
