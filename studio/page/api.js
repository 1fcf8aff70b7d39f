// Requests to the server. Errors carry what the server says: what was expected, what came, what to do.

export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{code: string, message: string, where?: string}} error
   */
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.where = error.where ?? "";
  }
}

/**
 * @param {string} path below /api
 * @param {{method?: string, body?: unknown, signal?: AbortSignal}} options
 * @returns {Promise<any>}
 */
export async function request(path, { method = "GET", body, signal } = {}) {
  const init = { method, signal, headers: {}, body: undefined };
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(`/api/${path}`, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "offline", message: "The server does not answer. Is it still running?" });
  }
  const content = await response.json().catch(() => null);
  if (!response.ok || content === null) {
    if (response.status === 401 && content?.error?.code === "login") dispatchEvent(new Event("loggedout"));
    const fallback = { code: "failed", message: `The server answered ${response.status}; its log says why.` };
    throw new ApiError(response.status, content?.error ?? fallback);
  }
  return content;
}
