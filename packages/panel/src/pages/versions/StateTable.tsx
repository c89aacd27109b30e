import { revealed } from '@indelible/protocol';
import { ChevronRight } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { ChangedText } from '../../components/ChangedText.tsx';
import { isNoText } from '../../components/NoText.tsx';
import { MoreButton, useShown } from '../../components/paged-list.tsx';
import { useFormats, useTexts } from '../../i18n/texts.tsx';
import { type StateNode, visibleNodes } from './state-tree.ts';

interface StateTableProps {
  tree: readonly StateNode[];
  /** The heads of the two sides. */
  heads: [ReactNode, ReactNode];
  onlyDifferences: boolean;
  /** What stands before the name of a field of the state itself. */
  choice?: (node: StateNode) => ReactNode;
}

const rowsShown = 200;

/**
 * Two states as one tree beside each other; what is equal is folded. Where there is little room, a
 * field stands above its two values.
 */
export function StateTable({ tree, heads, onlyDifferences, choice }: StateTableProps) {
  const t = useTexts();
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const isOpen = ({ key, differing }: StateNode) => differing > 0 !== toggled.has(key);
  const toggle = ({ key }: StateNode) => {
    const next = new Set(toggled);
    if (!next.delete(key)) next.add(key);
    setToggled(next);
  };
  const nodes = visibleNodes(tree, isOpen, onlyDifferences);
  const { shown, more } = useShown(nodes, rowsShown);
  return (
    <>
      <table className="state-table">
        <thead>
          <tr>
            <th scope="col" className="text-xs font-medium text-faint">
              {t.detail.field}
            </th>
            <th scope="col">{heads[0]}</th>
            <th scope="col">{heads[1]}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ node, depth }) => (
            <tr key={node.key} className={node.differing > 0 ? 'bg-accent-soft/40' : ''}>
              <th scope="row" className="font-mono text-xs text-muted">
                <div
                  className="flex items-start gap-1.5"
                  style={{ paddingLeft: `${depth * 14}px` }}
                >
                  {depth === 0 && choice?.(node)}
                  <NodeName node={node} isOpen={isOpen(node)} toggle={() => toggle(node)} />
                </div>
              </th>
              {(['from', 'to'] as const).map((side) => (
                <td key={side}>
                  <Side node={node} side={side} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div className="px-3 pb-3 empty:hidden">
        <MoreButton {...more} />
      </div>
    </>
  );
}

function NodeName(props: { node: StateNode; isOpen: boolean; toggle: () => void }) {
  const { node, isOpen, toggle } = props;
  const formats = useFormats();
  if (node.members.length === 0) return <span className="break-all">{revealed(node.name)}</span>;
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={toggle}
      className="-my-0.5 -ml-1.5 flex min-h-6 min-w-0 items-center gap-1 rounded px-1 text-left hover:bg-hover"
    >
      <ChevronRight aria-hidden className={`size-3 shrink-0 ${isOpen ? 'rotate-90' : ''}`} />
      <span className="min-w-0 break-all">{revealed(node.name)}</span>
      <span>({formats.number(node.members.length)})</span>
    </button>
  );
}

function Side({ node, side }: { node: StateNode; side: 'from' | 'to' }) {
  const { left, right, members } = node;
  const value = side === 'from' ? left : right;
  // An object or a list: its members have rows of their own.
  if (value === undefined && members.length > 0) return null;
  if (left !== right || isNoText(left)) return <ChangedText from={left} to={right} side={side} />;
  return (
    <span dir="auto" className="wrap-anywhere whitespace-pre-wrap text-muted">
      {revealed(String(value))}
    </span>
  );
}
