/**
 * Runs `task` after the event loop has looked at the sockets once more. Bun runs immediates before that look, and those that they
 * schedule after it (measured with 1.4.5).
 */
export function afterNextPoll(task: () => void): void {
  setImmediate(() => setImmediate(task));
}
