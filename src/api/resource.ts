/** What every object of the three kinds has besides its spec and status, in the JSON form of the API server. */

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  /** Counts changes of the spec. */
  generation?: number;
  resourceVersion?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** RFC 3339. */
  creationTimestamp?: string;
  /** RFC 3339; set while the object is being deleted. */
  deletionTimestamp?: string;
  ownerReferences?: readonly OwnerReference[];
}

export interface Resource<Kind extends string, Spec, Status> {
  apiVersion: string;
  kind: Kind;
  metadata: ObjectMeta & { namespace: string };
  spec: Spec;
  /** Absent until the first reconcile. */
  status?: Status;
}
