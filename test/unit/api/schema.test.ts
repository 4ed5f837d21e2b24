import { describe, expect, test } from "bun:test";
import { parse } from "yaml";
import { largestDefinition } from "../../../scripts/generated-files.ts";
import {
  customResourceDefinition,
  objectSchema,
  type StructuralSchema,
  structuralSchema,
} from "../../../src/api/crd.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { podTemplate } from "../../../src/api/pod-template.ts";
import { proxySpec } from "../../../src/api/proxy.ts";
import { targetSpec } from "../../../src/api/target.ts";
import { tunnelSpec } from "../../../src/api/tunnel.ts";
import { compactYaml } from "../../../src/api/yaml.ts";

const document = async (name: string) =>
  parse(await Bun.file(new URL(`../../fixtures/${name}.yaml`, import.meta.url)).text());

/** Every schema below this one, by path. */
function* everySchema(schema: StructuralSchema, path: string): Generator<[path: string, schema: StructuralSchema]> {
  yield [path, schema];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* everySchema(inner, `${path}.${name}`);
  if (schema.items !== undefined) yield* everySchema(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) yield* everySchema(schema.additionalProperties, `${path}{}`);
}

describe("the documented objects", () => {
  test("a Tunnel as documented gets its defaults", async () => {
    const { spec } = await document("tunnel");
    expect(tunnelSpec.parse(spec)).toEqual({
      replicas: 2,
      service: { name: "private-api", port: 30080 },
      encryption: "off",
      podTemplate: {
        distributeByNodes: true,
        hostNetwork: false,
        resources: { requests: { cpu: "10m", memory: "32Mi" } },
      },
      proxy: {
        replicas: 2,
        acceptProxyProtocol: false,
        podTemplate: { nodeSelector: { "netaminity.exeteres.net/environment": "cloud" } },
        proxyService: { type: "NodePort", nodePort: 31035 },
      },
      target: {
        replicas: 1,
        endpoint: "private-api.private.svc:8080",
        sendProxyProtocol: "off",
        podTemplate: { nodeSelector: { "netaminity.exeteres.net/environment": "private" } },
      },
    });
  });

  test("a Proxy as documented gets its defaults", async () => {
    const { spec } = await document("proxy");
    expect(proxySpec.parse(spec)).toEqual({
      replicas: 2,
      secretRef: { name: "private-api-tunnel" },
      service: { name: "private-api", port: 30080 },
      proxyService: { type: "LoadBalancer" },
      encryption: "optional",
      acceptProxyProtocol: false,
    });
  });

  test("a Target as documented gets its defaults", async () => {
    const { spec } = await document("target");
    expect(targetSpec.parse(spec)).toEqual({
      replicas: 1,
      secretRef: { name: "private-api-tunnel" },
      endpoint: "private-api.private.svc:8080",
      proxyEndpoint: "proxy.example.net:7835",
      encryption: "off",
      sendProxyProtocol: "off",
    });
  });

  test("the whole podTemplate as documented is kept as it is", async () => {
    const { podTemplate: documented } = await document("pod-template");
    expect(podTemplate.parse(documented)).toEqual(documented);
  });
});

describe("the schema of a podTemplate refuses", () => {
  const wrong: Record<string, unknown> = {
    "a misspelled field": { nodeSelectors: {} },
    "a misspelled field of an affinity": { affinity: { podAntiAfinity: {} } },
    "a misspelled field of a term": {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKeys: "zone" }] } },
    },
    "an unknown operator": {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "Is" }] }],
          },
        },
      },
    },
    "a toleration of an unknown effect": { tolerations: [{ effect: "Never" }] },
    "a spread over nothing": { topologySpreadConstraints: [{ maxSkew: 1, whenUnsatisfiable: "ScheduleAnyway" }] },
    "a resource of an unknown sort": { resources: { request: { cpu: "1" } } },
    "an unknown security setting": { securityContext: { runAsRoot: true } },
    "an unknown seccomp profile": { securityContext: { seccompProfile: { type: "Default" } } },
    "an unknown setting of the container": { containerSecurityContext: { capabilities: { remove: ["ALL"] } } },
  };
  for (const [title, template] of Object.entries(wrong)) {
    test(title, () => {
      expect(podTemplate.safeParse(template).success).toBe(false);
    });
  }
});

describe.each([...kinds])("the definition of $kind", (kind) => {
  const schema = objectSchema(kind);
  const all = [...everySchema(schema, kind.kind)];

  test("describes every field, for kubectl explain", () => {
    const isField = (path: string) => /\.\w+$/.test(path) && !path.endsWith(".metadata");
    expect(all.filter(([path, { description }]) => isField(path) && !description).map(([path]) => path)).toEqual([]);
  });

  test("is structural: a type everywhere, and no keyword that the API server does not know", () => {
    const isTyped = ({ type, ...rest }: StructuralSchema) =>
      type !== undefined || rest["x-kubernetes-int-or-string"] === true;
    expect(all.filter(([, each]) => !isTyped(each)).map(([path]) => path)).toEqual([]);
    const known = [
      ..."type description default enum required properties additionalProperties items format pattern anyOf nullable".split(
        " ",
      ),
      ..."minimum maximum minLength maxLength minItems maxItems maxProperties".split(" "),
      ..."validations int-or-string list-type list-map-keys map-type".split(" ").map((name) => `x-kubernetes-${name}`),
    ];
    const used = new Set(all.flatMap(([, each]) => Object.keys(each)));
    expect([...used].filter((keyword) => !known.includes(keyword))).toEqual([]);
  });

  test("fits into an annotation of kubectl and says the same to a reader of YAML 1.1, such as kubectl", () => {
    const definition = customResourceDefinition(kind);
    const text = compactYaml(definition);
    expect(JSON.stringify(definition).length).toBeLessThan(largestDefinition);
    expect(parse(text, { version: "1.1" })).toEqual(JSON.parse(JSON.stringify(definition)));
  }, 60_000);
});

test("integers have no bounds that only JavaScript needs", () => {
  const { properties } = structuralSchema(podTemplate);
  expect(properties?.tolerations?.items?.properties?.tolerationSeconds).toEqual({
    type: "integer",
    format: "int64",
    description: "How long a NoExecute taint is tolerated; absent: for ever.",
  });
});
