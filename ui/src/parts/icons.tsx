/** The icons of the UI, by what they mean: one meaning, one drawing. */
import {
  Activity, AlarmClock, Archive, ArrowDown, ArrowLeft, ArrowLeftRight, ArrowRight, ArrowUp, Ban, Blocks, Bot, Box, Boxes,
  Check, ChevronDown, ChevronLeft, ChevronRight, CircleCheck, CircleDashed, CircleDot, CircleSlash, CircleX, Clock,
  ClockAlert, Container, Copy, Cpu, Download, Ellipsis, ExternalLink, Filter, Flag, Gauge, GitBranch, GitFork, GitMerge, Hand, History, Hourglass,
  Inbox, KeyRound, Keyboard, LayoutDashboard, ListFilter, ListTree, LoaderCircle, LogOut, MailX, Menu, MessageSquareText,
  Minus, Monitor, Moon, Network, Package, PauseCircle, Play, Plus, Radio, RefreshCw, Repeat, RotateCcw, Route, ScrollText,
  Search, Settings, ShieldCheck, ShieldQuestion, ShipWheel, SkipForward, Split, Square, Sun, Terminal, Timer, Trash2, TriangleAlert,
  Undo2, Unplug, Upload, User, Users, Wallet, Workflow, X, Zap,
  type LucideIcon,
} from 'lucide-react'
import { memo } from 'react'

export type IconShape = LucideIcon

export const ICONS = {
  // Places
  overview: LayoutDashboard, runs: Activity, inbox: Inbox, flows: Workflow, packages: Package, workers: Cpu, environments: Container,
  pods: ShipWheel,  deadLetters: MailX, limits: Gauge, settings: Settings, users: Users, tokens: KeyRound, audit: History, tenants: Boxes,
  // States
  succeeded: CircleCheck, failed: CircleX, running: LoaderCircle, waiting: PauseCircle, verifying: ShieldQuestion,
  queued: CircleDashed, cancelled: Ban, skipped: SkipForward, superseded: CircleSlash, warning: TriangleAlert,
  timedOut: ClockAlert, lost: Unplug, online: CircleDot, offline: CircleSlash, accepted: ShieldCheck,
  // Kinds of nodes
  call: Zap, choice: Split, foreach: Repeat, parallel: GitBranch, subflow: Box, timer: Timer, wait: Radio, approval: Hand,
  join: GitMerge, middleware: Route, planner: Bot, start: Flag,
  // Views
  graph: Network, list: ListTree, events: ScrollText, logs: Terminal, data: Blocks, plan: Bot, clock: Clock, due: AlarmClock,
  // Verbs
  retry: RotateCcw, rerun: RefreshCw, fork: GitFork, start_run: Play, cancel: Square, move: ArrowLeftRight, signal: Radio, copy: Copy,
  download: Download, upload: Upload, search: Search, filter: ListFilter, funnel: Filter, close: X, more: Ellipsis, add: Plus,
  remove: Trash2, back: ArrowLeft, forward: ArrowRight, up: ArrowUp, down: ArrowDown, undo: Undo2, open: ExternalLink, archive: Archive,
  check: Check, minus: Minus, chevron: ChevronDown, unfold: ChevronRight, fold: ChevronDown, before: ChevronLeft, menu: Menu,
  keys: Keyboard, light: Sun, dark: Moon, system: Monitor, signOut: LogOut, user: User, hint: MessageSquareText,
  budget: Wallet, sandglass: Hourglass,
} as const satisfies Record<string, LucideIcon>

export type IconName = keyof typeof ICONS

/** Drawn anew only when it changes: rows of long lists are drawn at every event, their icons need not be. */
export const Icon = memo(function Icon({ name, size = 16, className = '' }: { name: IconName; size?: number; className?: string }) {
  const Shape = ICONS[name]
  return <Shape aria-hidden="true" size={size} strokeWidth={1.75} className={`shrink-0 ${className}`} />
})
