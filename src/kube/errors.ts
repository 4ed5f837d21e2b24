/** What can go wrong between us and the API server. Which class it is decides whether trying again helps. */

/** The `Status` object that the API server answers with. */
export interface StatusBody {
  message?: string;
  reason?: string;
  code?: number;
  details?: { causes?: { field?: string; message?: string; reason?: string }[]; retryAfterSeconds?: number };
}

/** The API server answered, but not with what was asked for. */
export class ApiError extends Error {
  override readonly name: string = "ApiError";

  constructor(
    readonly code: number,
    readonly body: StatusBody,
    readonly call: string,
  ) {
    super(`${call}: ${code} ${body.message ?? body.reason ?? "without a message"}`);
  }

  get reason(): string {
    return this.body.reason ?? "";
  }
}

/** 404: the object (or the whole kind) does not exist. */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}

/** 409: somebody else changed or made the object in between; reading again and deciding again helps. */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}

/** 410: the resource version or continue token is too old; only a new list helps. */
export class GoneError extends ApiError {
  override readonly name = "GoneError";
}

/**
 * The server understood the object and will not have it as it is: 400, 403 by admission or quota, 422, and two answers of 500: of a server-side apply
 * of an unknown field ("failed to create typed patch object") and for an admission webhook that cannot be asked. The same request fails again until a person changes something.
 */
export class RefusedError extends ApiError {
  override readonly name = "RefusedError";
}

/** No answer: the connection failed or broke. */
export class UnreachableError extends Error {
  override readonly name: string = "UnreachableError";
}

/** No answer within the time of the call: of the API server, or of what is behind it. */
export class TimedOutError extends UnreachableError {
  override readonly name = "TimedOutError";
}

/** Work was given up because the process stops or this replica no longer leads. */
export class StoppedError extends Error {
  override readonly name = "StoppedError";
}

/** The kubeconfig or the service account folder cannot be used. */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
}

/** What is wrong with a server's certificate, by the code of the failed request; undefined when it is something else. */
export function certificateFault(code: string | undefined): string | undefined {
  switch (code) {
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return "its certificate is for other names; use one of them as the server, or name it as tls-server-name in the kubeconfig";
    case "CERT_HAS_EXPIRED":
      return "its certificate has expired, or this machine's clock is wrong";
    case "CERT_NOT_YET_VALID":
      return "its certificate is not valid yet, or this machine's clock is wrong";
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
      return "its certificate is of no authority that the kubeconfig names (certificate-authority, certificate-authority-data) or this machine knows";
    default:
      return undefined;
  }
}

/** Whether the failure says that the caller may not do this, or is nobody. */
export function isDenied(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.code === 401 || error.code === 403);
}

/** Whether a 500 is really the user's error: the API server gives it no reason, so its text is all there is. */
function isTypedPatchError(code: number, body: StatusBody): boolean {
  return code === 500 && (body.message ?? "").startsWith("failed to create typed patch object");
}

/** Whether an admission webhook could not be asked, and is not to be passed over (`failurePolicy: Fail`): a 500 that its text alone tells from others. */
export function isWebhookFailure({ code, message = "" }: { code: number; message?: string | undefined }): boolean {
  return code === 500 && /\bfailed calling (admission )?webhook\b/.test(message);
}

/** The error class for an answer that is not 2xx. */
export function apiError(code: number, body: StatusBody, call: string): ApiError {
  if (code === 404) {
    return new NotFoundError(code, body, call);
  }
  if (code === 409) {
    return new ConflictError(code, body, call);
  }
  if (code === 410) {
    return new GoneError(code, body, call);
  }
  const isRefusing500 = isTypedPatchError(code, body) || isWebhookFailure({ code, message: body.message });
  if (code === 400 || code === 403 || code === 422 || isRefusing500) {
    return new RefusedError(code, body, call);
  }
  return new ApiError(code, body, call);
}
