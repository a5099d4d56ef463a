/** Which columns the list has. */
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Menu, MenuItem } from '@/parts/menu'

import { type Column, COLUMNS, HEADS } from './columns'

export function ColumnsMenu({ columns, onChange }: { columns: readonly Column[]; onChange: (columns: Column[]) => void }) {
  const t = useT()
  const toggle = (column: Column) => onChange(COLUMNS.filter((one) => (one === column) !== columns.includes(one)))
  return (
    <Menu label={t('Columns')} button={<Button icon="filter">{t('Columns')}</Button>}>
      {COLUMNS.map((column) => (
        <MenuItem key={column} icon={columns.includes(column) ? 'check' : undefined} stays onSelect={() => toggle(column)}>
          {t(HEADS[column])}
        </MenuItem>
      ))}
    </Menu>
  )
}
