/** Reads server-sent events from text that arrives in arbitrary pieces. */

export interface Message {
  id: string
  event: string
  data: string
}

export class SseParser {
  private rest = ''

  /** The messages completed by one more piece of text; comments and empty messages are left out. */
  feed(text: string): Message[] {
    this.rest += text
    const messages: Message[] = []
    let end = this.rest.search(/\r?\n\r?\n/)
    while (end >= 0) {
      const message = parse(this.rest.slice(0, end))
      if (message) messages.push(message)
      this.rest = this.rest.slice(end).replace(/^\r?\n\r?\n/, '')
      end = this.rest.search(/\r?\n\r?\n/)
    }
    return messages
  }
}

function parse(block: string): Message | null {
  const message: Message = { id: '', event: 'message', data: '' }
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const field = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^ /, '')
    if (field === 'id') message.id = value
    else if (field === 'event') message.event = value
    else if (field === 'data') data.push(value)
  }
  if (data.length === 0) return null
  message.data = data.join('\n')
  return message
}
