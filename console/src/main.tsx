import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './styles/all.css'
import { App } from './app.tsx'

createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
