/** The product's mark: a drop of ink with a tick. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" className="size-8 shrink-0" aria-hidden="true">
      <rect width="32" height="32" rx="8" className="fill-accent" />
      <path
        d="M16 5.5c3.4 4.4 6.6 8 6.6 12a6.6 6.6 0 0 1-13.200 0c0-4 3.200-7.600 6.600-12Z"
        className="fill-on-accent"
      />
      <path
        d="m12.700 17.700 2.500 2.500 4.300-4.600"
        className="fill-none stroke-accent"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
