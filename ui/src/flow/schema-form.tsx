/** Fields for what a JSON Schema declares, each of its type. */
import { useT } from '@/i18n'
import { Field, FIELD, Input, TextArea } from '@/parts/basics'

import type { FieldSpec } from './fields'

interface Props {
  fields: readonly FieldSpec[]
  values: Readonly<Record<string, string>>
  onChange: (name: string, text: string) => void
}

export function SchemaForm({ fields, values, onChange }: Props) {
  const t = useT()
  return fields.map((field) => {
    const label = field.required ? `${field.title} *` : field.title
    const hint = field.hint || (field.kind === 'json' ? t('JSON, or plain text') : undefined)
    return (
      <Field key={field.name} label={label} hint={hint}>
        {(id) => <One id={id} field={field} value={values[field.name] ?? ''} onChange={(text) => onChange(field.name, text)} />}
      </Field>
    )
  })
}

interface OneProps {
  id: string
  field: FieldSpec
  value: string
  onChange: (text: string) => void
}

function One({ id, field, value, onChange }: OneProps) {
  const common = { id, required: field.required && field.preset === '', value, placeholder: field.preset }
  if (field.kind === 'boolean' || field.kind === 'choice') {
    const choices = field.kind === 'boolean' ? ['true', 'false'] : field.choices
    return (
      <select id={id} required={common.required} className={`${FIELD} w-full`} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{field.preset}</option>
        {choices.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    )
  }
  if (field.kind === 'json') return <TextArea {...common} rows={2} className="font-mono" onChange={(event) => onChange(event.target.value)} />
  const number = field.kind === 'number'
  return <Input {...common} type={number ? 'number' : 'text'} step={field.integer ? 1 : 'any'} onChange={(event) => onChange(event.target.value)} />
}
