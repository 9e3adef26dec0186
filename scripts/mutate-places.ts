/** Places in a source file where a tired engineer makes a mistake, and the text that has the mistake behind a switch. */
import { parseSync } from "oxc-parser";

export interface Place {
  readonly kind: Kind;
  readonly start: number;
  readonly end: number;
  readonly line: number;
  /** `hasMistake` is an expression: whether this mistake is the one that is switched on. */
  readonly rewrite: (hasMistake: string) => string;
}

export const KINDS = [
  "negated condition",
  "lost !",
  "boundary",
  "and for or",
  "fallback lost",
  "return lost",
  "call lost",
  "element lost",
  "field lost",
  "escape lost",
  "word lost",
  "alternative lost",
] as const;
export type Kind = (typeof KINDS)[number];

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const BOUNDARIES: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const ESCAPES = /(?:escape|quote|mask|printable|visible|clean|oneLine)/i;

export function placesIn(path: string, source: string): Place[] {
  const places: Place[] = [];
  const text = ({ start, end }: Node) => source.slice(start, end);
  const add = (kind: Kind, node: Node, rewrite: Place["rewrite"]) => {
    const line = source.slice(0, node.start).split("\n").length;
    places.push({ kind, start: node.start, end: node.end, line, rewrite });
  };
  const either = (kind: Kind, node: Node, mistake: string) =>
    add(kind, node, (has) => `(${has} ? (${mistake}) : (${text(node)}))`);
  const leftOut = (kind: Kind, node: Node) => add(kind, node, (has) => `if (!${has}) ${text(node)}`);

  const visit = (node: Node) => {
    switch (node.type) {
      case "IfStatement": {
        const [test, then] = [node.test as Node, node.consequent as Node];
        either("negated condition", test, `!(${text(test)})`);
        const only = then.type === "BlockStatement" ? (then.body as Node[]).at(-1) : then;
        if (only?.type === "ReturnStatement" || only?.type === "ContinueStatement") leftOut("return lost", only);
        break;
      }
      case "ConditionalExpression":
        either("negated condition", node.test as Node, `!(${text(node.test as Node)})`);
        break;
      case "UnaryExpression":
        if (node.operator === "!") either("lost !", node, text(node.argument as Node));
        break;
      case "BinaryExpression": {
        const other = BOUNDARIES[node.operator as string];
        if (other !== undefined)
          either("boundary", node, `${text(node.left as Node)} ${other} ${text(node.right as Node)}`);
        break;
      }
      case "LogicalExpression": {
        const [left, right] = [text(node.left as Node), text(node.right as Node)];
        if (node.operator === "??") either("fallback lost", node, left);
        else either("and for or", node, `(${left}) ${node.operator === "&&" ? "||" : "&&"} (${right})`);
        break;
      }
      case "ExpressionStatement": {
        const expression = node.expression as Node;
        const call = expression.type === "AwaitExpression" ? (expression.argument as Node) : expression;
        if (call.type === "CallExpression" && (call.callee as Node).type !== "Super") leftOut("call lost", node);
        break;
      }
      case "CallExpression": {
        const [only, ...others] = node.arguments as Node[];
        if (ESCAPES.test(text(node.callee as Node)) && only !== undefined && others.length === 0)
          either("escape lost", node, text(only));
        // A list in one text, as `words("a b c")`.
        const isList = /^words|^wordList$/i.test(text(node.callee as Node));
        if (isList && only !== undefined && /^["`][^$\\]*["`]$/.test(text(only)))
          for (const { 0: word, index } of text(only).matchAll(/[^\s"`]+/g))
            either("word lost", only, text(only).slice(0, index) + text(only).slice(index + word.length));
        break;
      }
      case "Literal":
        if (node.regex !== undefined)
          for (const { start, end } of alternativesIn(text(node)))
            either("alternative lost", node, text(node).slice(0, start) + text(node).slice(end));
        break;
      case "ArrayExpression":
        for (const element of (node.elements as (Node | null)[]).filter((one) => one !== null))
          if (element.type !== "SpreadElement")
            add("element lost", element, (has) => `...(${has} ? [] : [${text(element)}])`);
        break;
      case "ObjectExpression":
        for (const field of node.properties as Node[])
          if (field.type === "Property" && !field.method && field.kind === "init")
            add("field lost", field, (has) => `...(${has} ? {} : { ${text(field)} })`);
        break;
      default:
    }
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parseSync(path, source).program as unknown as Node);
  return places;
}

/** The alternatives of a pattern, each with one of the bars beside it. */
function alternativesIn(pattern: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  const open: number[][] = [[0]];
  for (const { 0: one, index } of pattern.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|[()|]|\/[a-z]*$/g)) {
    const bars = open.at(-1);
    if (one === "(")
      open.push([index + (/^\((?:\?(?:<?[=!]|<\w+>|[a-z]*:))?/.exec(pattern.slice(index))?.[0].length ?? 1) - 1]);
    else if (one === "|") bars?.push(index);
    else if (one === ")" || (one.startsWith("/") && index > 0)) {
      const ends = [...(open.pop() ?? []), index];
      for (let at = 1; ends.length > 2 && at < ends.length; at++)
        found.push(
          at === 1
            ? { start: (ends[0] as number) + 1, end: (ends[1] as number) + 1 }
            : { start: ends[at - 1] as number, end: ends[at] as number },
        );
    }
  }
  return found;
}

/** Types have no mistakes that a test could notice. */
function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof value === "object" && value !== null && "type" in value)
    .filter(({ type }) => !type.startsWith("TS") || /^TS(?:As|Satisfies|NonNull)/.test(type));
}

/** The source with all its mistakes in it; places must not overlap. */
export function withMistakes(
  source: string,
  places: readonly { readonly place: Place; readonly has: string }[],
): string {
  let text = source;
  for (const { place, has } of places.toSorted((a, b) => b.place.start - a.place.start))
    text = text.slice(0, place.start) + place.rewrite(has) + text.slice(place.end);
  return text;
}
