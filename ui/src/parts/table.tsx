/** A table with rows of 32 px: what most lists are. */
import type { ReactNode } from 'react'

export interface Column<T> {
  head: string
  cell: (row: T) => ReactNode
  /** Left out on narrow pages. */
  wide?: boolean
  /** Left out on all but wide screens. */
  widest?: boolean
  /** Takes what is left, and is cut short. */
  grows?: boolean
  number?: boolean
}

interface Props<T> {
  label: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
  /** Attributes of a row: data for tests, a look, a click. */
  rowProps?: (row: T) => React.HTMLAttributes<HTMLTableRowElement> & Record<`data-${string}`, string>
}

export function Table<T>({ label, columns, rows, keyOf, rowProps }: Props<T>) {
  const look = (column: Column<T>) =>
    [column.widest ? 'hidden xl:table-cell' : column.wide ? 'hidden md:table-cell' : '', column.grows ? 'w-full max-w-0 truncate' : 'whitespace-nowrap', column.number ? 'text-right tabular-nums' : ''].join(' ')
  return (
    <div className="overflow-x-auto" tabIndex={0} role="group" aria-label={label}>
      <table className="w-full text-sm">
        <thead className="text-left text-xs text-soft">
          <tr className="h-8">
            {columns.map((column) => (
              <th key={column.head} className={`px-3 font-medium ${look(column)}`}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const { className = '', ...rest } = rowProps?.(row) ?? {}
            return (
              <tr key={keyOf(row)} className={`h-8 border-t border-line transition-colors hover:bg-sunk ${className}`} {...rest}>
                {columns.map((column) => (
                  <td key={column.head} className={`px-3 ${look(column)}`}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
