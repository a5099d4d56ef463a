/** Images of containers, and the log of one that is pulled or built. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { envImageQuery } from '@/api/envs'
import type { EnvImage } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Panel, Skeleton } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { Dialog } from '@/parts/dialog'
import { Empty, Failed } from '@/parts/feedback'
import { Status } from '@/parts/status'
import { Table } from '@/parts/table'

export function Images({ images }: { images: readonly EnvImage[] }) {
  const t = useT()
  const [open, setOpen] = useState<EnvImage | null>(null)
  return (
    <Panel title={t('Images')}>
      {images.length === 0 ? (
        <Empty icon="environments" title={t('No image was pulled or built here yet. Build one:')} command="windlass image build py Dockerfile" />
      ) : (
        <Table
          label={t('Images')}
          rows={images}
          keyOf={(one) => one.id}
          rowProps={(one) => ({ 'data-image': one.name })}
          columns={[
            { head: t('Name'), cell: (one) => <span className="font-mono">{one.name}</span> },
            { head: t('Status'), cell: (one) => <Status state={one.status} /> },
            { head: t('Reference'), wide: true, grows: true, cell: (one) => <Reference image={one} /> },
            { head: t('Host'), wide: true, cell: (one) => one.host || '–' },
            { head: t('Changed'), wide: true, cell: (one) => <Ago at={one.changedAt} /> },
            {
              head: '',
              cell: (one) => (
                <Button onClick={() => setOpen(one)} aria-label={t('Log of {name}', { name: one.name })}>
                  {t('Log')}
                </Button>
              ),
            },
          ]}
        />
      )}
      {open && <ImageLog image={open} onClose={() => setOpen(null)} />}
    </Panel>
  )
}

/** What a container's config names, or what went wrong with it. */
function Reference({ image }: { image: EnvImage }) {
  if (image.error) {
    return (
      <span title={image.error} className="text-bad">
        {image.error}
      </span>
    )
  }
  return (
    <span title={image.digest || undefined} className="font-mono text-xs text-soft">
      {image.imageRef}
    </span>
  )
}

function ImageLog({ image, onClose }: { image: EnvImage; onClose: () => void }) {
  const t = useT()
  const read = useQuery(envImageQuery(image.id))
  return (
    <Dialog title={t('Log of {name}', { name: image.name })} wide onClose={onClose}>
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {read.isPending && !read.error && <Skeleton />}
      {read.data?.error && <p className="mb-3 rounded-lg bg-bad-soft p-3 font-mono text-xs wrap-anywhere whitespace-pre-wrap text-bad">{read.data.error}</p>}
      {read.data && (
        <pre tabIndex={0} aria-label={t('Log')} className="max-h-[32rem] overflow-auto rounded-lg bg-sunk p-3 font-mono text-xs leading-5">
          {read.data.log || t('Nothing has been said yet.')}
        </pre>
      )}
    </Dialog>
  )
}
