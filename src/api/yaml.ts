import { Document, isMap, isSeq } from "yaml";

/** Length in JSON up to which a map or list takes one line. */
const lineLength = 320;

/**
 * YAML in which a map or list that fits on one line takes one line.
 * It lets a person see a field at a glance, and keeps a CRD with three pod templates small.
 * Strings that YAML 1.1 takes for something else (off, yes) are quoted, because kubectl reads YAML so.
 */
export function compactYaml(value: object): string {
  const plain: unknown = JSON.parse(JSON.stringify(value));
  const document = new Document(plain, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  markShort(document.contents, plain);
  return document.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false });
}

/** `node` is the YAML node of `value`. */
function markShort(node: unknown, value: unknown): void {
  if (!isMap(node) && !isSeq(node)) return;
  if (JSON.stringify(value).length <= lineLength) {
    node.flow = true;
    return;
  }
  const values = Object.values(value as object);
  node.items.forEach((item, index) => {
    markShort(isMap(node) ? (item as { value: unknown }).value : item, values[index]);
  });
}
