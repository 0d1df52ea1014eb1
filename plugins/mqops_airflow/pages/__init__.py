"""Pages of an MQ administrator in Airflow's UI: what runs look at, plan, move and prove, without a shell and a log.

1. Every page shows, and none writes. What a page starts or answers, the browser asks Airflow's own API, with the
   session and the rights of the person (`static/pages.js`).
2. Airflow imports plugins in tasks, too. `ui` is all that they load of it; FastAPI and the pages are loaded
   by the first request (`app`).
3. All text of others passes `render`, which escapes it. Nothing is fetched from elsewhere: the browser is told so.
"""
