import { Document, visit } from "yaml";

const lineLength = 320;

/**
 * YAML in which a map or list that fits on one line takes one line.
 * It keeps a CRD with three pod templates below 100 KiB and lets a person see a field at a glance.
 * Strings that YAML 1.1 takes for something else (off, yes) are quoted, because kubectl reads YAML so.
 */
export function compactYaml(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  visit(document, {
    Collection: (_key, node) => {
      if (JSON.stringify(node.toJS(document)).length > lineLength) return undefined;
      node.flow = true;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false });
}
