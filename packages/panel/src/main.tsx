import './styles.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { applyTheme } from './preferences.ts';
import { createPanelRouter } from './routes.tsx';
import { isEmbedded } from './session/host.ts';

applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    // The client retries by itself. A focused window does not reload: after some time the log would
    // record that an operator looked again.
    // Without a network a request fails at once: one that waits would look like a slow service.
    queries: {
      networkMode: 'always',
      retry: false,
      refetchOnWindowFocus: false,
      staleTime: 30_000,
    },
    mutations: { networkMode: 'always' },
  },
});
const router = createPanelRouter();
const root = document.getElementById('panel');
if (root === null) throw new Error('the page has no element for the panel');

if (isEmbedded()) {
  void import('./session/embedded.ts').then(({ joinHost }) => joinHost(router, root));
}

createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
