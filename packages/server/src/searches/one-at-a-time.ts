/** Runs one piece of work a tenant at a time: who asks for many searches waits for their own. */
export function oneAtATime(): <T>(tenantId: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (tenantId, work) => {
    const before = last.get(tenantId) ?? Promise.resolve();
    const running = before.then(work);
    const settled = running
      .catch(() => {})
      .then(() => {
        if (last.get(tenantId) === settled) last.delete(tenantId);
      });
    last.set(tenantId, settled);
    return running;
  };
}
