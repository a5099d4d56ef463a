/** The server's one line about a run, in Chinese. It is always sent in English; what is not known here stays so. */

const S = '(-?\\d+)'
const LINES: [RegExp, string][] = [
  [new RegExp(`^(".+") runs on (\\S+) \\(attempt (\\d+), lease for ${S} s more(, asked to stop)?\\)`), '$1 正在 $2 上运行（第 $3 次尝试，租约还剩 $4 秒$5）'],
  [/^(".+") runs on (\S+) \(attempt (\d+), lease expired, being taken back(, asked to stop)?\)/, '$1 正在 $2 上运行（第 $3 次尝试，租约已过期，正在收回$4）'],
  [new RegExp(`^(".+") is queued for ${S} s: no live (\\S+) worker serves (".+?")`), '$1 已排队 $2 秒：没有在线的 $3 工作进程提供 $4'],
  [new RegExp(`^(".+") is queued for ${S} s: all (\\d+) (\\S+) workers for (".+?") are busy`), '$1 已排队 $2 秒：提供 $5 的 $3 个 $4 工作进程都在忙'],
  [new RegExp(`^(".+") is queued for ${S} s: it belongs to worker (\\S+), which is busy`), '$1 已排队 $2 秒：它属于工作进程 $3，该进程正忙'],
  [new RegExp(`^(".+") is queued for ${S} s: it belongs to worker (\\S+), which is not on the link; others may have it when it is given up`), '$1 已排队 $2 秒：它属于工作进程 $3，该进程未通过 link 连接；放弃绑定后其他进程可以接手'],
  [new RegExp(`^(".+") is queued for ${S} s: all (\\d+) workers that have (\\S+) are busy`), '$1 已排队 $2 秒：拥有 $4 的 $3 个工作进程都在忙'],
  [new RegExp(`^(".+") is queued for ${S} s: none of (\\d+) workers on the link has ([^\\s;]+)`), '$1 已排队 $2 秒：link 上的 $3 个工作进程都没有 $4'],
  [new RegExp(`^(".+") is queued for ${S} s: no worker on the link has ([^\\s;]+); start one with`), '$1 已排队 $2 秒：link 上没有工作进程拥有 $3；启动一个：'],
  [new RegExp(`^(".+") is queued for ${S} s: no control plane is running`), '$1 已排队 $2 秒：没有控制平面在运行'],
  [new RegExp(`^(".+") is queued for ${S} s: all slots for it are busy`), '$1 已排队 $2 秒：所有槽位都在忙'],
  [new RegExp(`^(".+") is queued for ${S} s: no server has a local function (".+?")`), '$1 已排队 $2 秒：没有服务器提供本地函数 $3'],
  [/^(".+") is queued for a script, and scripts are off; start the server with --allow-scripts/, '$1 在等待脚本，但脚本已关闭；请用 --allow-scripts 启动服务器'],
  [new RegExp(`^(".+") sleeps for ${S} s more`), '$1 还要休眠 $2 秒'],
  [new RegExp(`^(".+") waits for a person to answer, expires in ${S} s`), '$1 等待人工答复，$2 秒后过期'],
  [/^(".+") waits for a person to answer/, '$1 等待人工答复'],
  [new RegExp(`^(".+") waits for signal (".+?") for ${S} s more`), '$1 等待信号 $2，还剩 $3 秒'],
  [/^(".+") waits for signal (".+?")/, '$1 等待信号 $2'],
  [new RegExp(`^(".+") waits for ${S} s more before attempt (\\d+) after: `), '$1 将在 $2 秒后进行第 $3 次尝试，此前：'],
  [/^(".+") waits for other branches to finish/, '$1 等待其他分支完成'],
  // What pods wait for
  [/^waits for a node(?=:|$)/, '等待节点'],
  [/^waits on node (\S+):/, '在节点 $1 上等待：'],
  [/^waits to begin on node (\S+)/, '等待在节点 $1 上启动'],
  [/^is not made yet:/, '尚未创建：'],
  [/^was just made/, '刚刚创建'],
  [/^failed at (".+?"): /, '在 $1 失败：'],
  [/^\w+: between two steps; it moves on with the next commit/, '处于两步之间，下次提交后继续'],
  [/^succeeded/, '成功'],
  [/^cancelled/, '已取消'],
  [/^failed/, '失败'],
]

export function whyInChinese(line: string): string {
  const cancelling = line.startsWith('being cancelled: ')
  const text = cancelling ? line.slice('being cancelled: '.length) : line
  const found = LINES.find(([pattern]) => pattern.test(text))
  if (!found) return line
  const said = text
    .replace(found[0], found[1])
    .replace(', asked to stop', '，已请求停止')
    .replace(/ \(and (\d+) more\)$/, '（另有 $1 个）')
    .replace(/; (\S+) serves it by (\S+): write exec_type: (\S+), or start it with --transport (\S+)/, '；$1 通过 $2 提供它：请写 exec_type: $3，或用 --transport $4 启动')
    .replace(/, with (\d+) failed tasks on the way$/, '，途中有 $1 个任务失败')
  return cancelling ? `正在取消：${said}` : said
}
