// The live parts of the pages. Each is asked for by an attribute of an element; nothing is fetched from elsewhere.
//   data-live="URL" data-every="seconds"   the element's content is replaced by what URL answers
//   data-keeps (with an id, in such an element) stays as the person left it, as long as the answer has it, too;
//              data-keeps="open": only whether it is open
//   data-awaited                           the page is loaded again as soon as the server has it, or awaits it no more
//   data-starts="DAG id" data-fixed="{}"   a form that starts a run by Airflow's API, with the person's own rights
//   data-answers="{dag_id, run_id, task_id}" a form that answers an approval by Airflow's API
//   data-twice="words"                     a button of a form that has to be pressed twice: the words for the second press
//   data-clears="{dag_id, run_id, task_ids}" a form that clears tasks of a run by Airflow's API; with data-starts,
//                                          when the run that it has started has ended well
//   data-then="URL?..."                    the page that is shown when the run of a form has ended, of that run and its state
//   data-airflow-page                      a link to a page of Airflow's own: opens in the whole window
//   data-login                             a link to Airflow's login, which leads back to this page
//   data-copies="id"                       a button that copies the text of that element
//   data-copy="text"                       a button that copies this text
//   data-listed                            a checkbox whose value, if it is ticked, is one of the list of its name; with
//                                          data-queue, the form is about that queue, and about no second one
//   data-every                             a list whose choice, JSON of fields, stands in place of what is ticked
//   data-for="words"                       fields that count while the form's field `action` has one of these words
//   data-names="URL"                       a field whose names URL offers; URL/check says what is wrong with one
//   data-result="id"                       the element that shows the result of the run that the form starts
//   data-ticks                             a checkbox that ticks all of these in its form
//   data-filters                           a field: of the elements with data-filtered only rows and lines with its text are shown
//   data-submits                           a list whose choice submits its form
"use strict";

(() => {
  const outer = () => {
    try {
      return window.parent !== window && window.parent.document ? window.parent : null;
    } catch {
      return null; // the frame of another site
    }
  };

  // Airflow keeps the choice of light or dark as a class of its own page.
  const takeTheme = () => {
    const airflow = outer();
    if (!airflow) return;
    const classes = airflow.document.documentElement.classList;
    const dark = classes.contains("dark");
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  };
  takeTheme();
  if (outer()) {
    const watch = new MutationObserver(takeTheme);
    watch.observe(outer().document.documentElement, { attributes: true, attributeFilter: ["class"] });
    window.addEventListener("pagehide", () => watch.disconnect());
  }

  const said = (element, text, bad) => {
    element.textContent = (element.dataset.of ?? "") + text;
    element.classList.toggle("bad", Boolean(bad));
  };

  // At the top of the page, and to whoever listens: the session is over, or the server does not answer. "" where it is
  // mended. The login leads back to the page on which the person is.
  const SESSION_OVER = "Your session is over: nothing here is brought up to date.";
  const cutOff = (text, login = false) => {
    const place = document.getElementById("cut-off");
    place.hidden = !text;
    document.getElementById("cut-off-why").textContent = text;
    place.querySelector("[data-login]").hidden = !login;
    leadBack();
  };
  const leadBack = () => {
    for (const link of document.querySelectorAll("[data-login]")) {
      link.search = `?${new URLSearchParams({ next: (outer() ?? window).location.href })}`;
    }
  };

  // What Airflow's API answers, or an error in words. SQLite refuses a change of a transaction that has read what another
  // one has changed since: Airflow takes it back, answers 500, and is asked once more.
  const AGAIN = 3;
  const call = async (method, path, body) => {
    const asks = () => fetch(document.body.dataset.airflow + "/api/v2" + path, {
      method,
      credentials: "same-origin",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    let answer = await asks();
    let again = 0;
    for (; answer.status === 500 && again < AGAIN; again += 1) answer = await asks();
    const found = await answer.json().catch(() => ({}));
    if (answer.ok) return found;
    if (answer.status === 401) cutOff(SESSION_OVER, true);
    const detail = typeof found.detail === "string" ? found.detail : JSON.stringify(found.detail ?? "");
    const told = detail.split(/\s+Failed validating/)[0]; // what follows is the schema
    const error = new Error(`Airflow answers ${answer.status}. ${told}`);
    throw Object.assign(error, { status: answer.status, refused: again > 0 });
  };
  // Start a run, which has its name from here: to ask once more starts no second one, and 409 says that it is there.
  const begins = async (dag, given) => {
    const dag_run_id = `manual__${new Date().toISOString().replace("Z", "000+00:00")}`;
    const begun = call("POST", segments("dags", dag, "dagRuns"), { dag_run_id, logical_date: null, conf: given });
    return begun.catch((error) => {
      if (error.status === 409 && error.refused) return { dag_run_id };
      throw error;
    });
  };
  const segments = (...parts) => parts.map((part) => "/" + encodeURIComponent(part)).join("");

  const conf = (form) => {
    const found = JSON.parse(form.dataset.fixed || "{}");
    const every = form.querySelector("[data-every]")?.value;
    for (const field of form.elements) {
      if (!field.name || field.matches(":disabled")) continue;
      if (field.dataset.listed !== undefined) {
        found[field.name] ??= [];
        if (field.checked) found[field.name].push(field.value);
      } else if (field.type === "checkbox") found[field.name] = field.checked;
      else if (field.type === "number") {
        if (field.value !== "") found[field.name] = Number(field.value);
      } else if (field.value !== "" || !field.matches("[data-names]")) found[field.name] = field.value; // else: as of itself
    }
    if (every) {
      delete found.message_ids;
      return Object.assign(found, JSON.parse(every));
    }
    const ticked = [...form.querySelectorAll("[data-listed]:checked")];
    if (form.querySelector("[data-listed]") && !ticked.length) throw new Error("Tick a message first.");
    const queues = new Set(ticked.map((one) => one.dataset.queue).filter(Boolean));
    if (queues.size > 1) throw new Error(`A run is about one queue. Tick messages of one: ${[...queues].join(", ")}.`);
    for (const queue of queues) found.queue = queue;
    return found;
  };

  // The names that a field offers, and what is wrong with the one that was written: nothing starts with a wrong one.
  const offers = async (field) => {
    if (field.dataset.offered) return;
    field.dataset.offered = "yes";
    const answer = await fetch(field.dataset.names, { credentials: "same-origin" }).catch(() => ({}));
    if (answer.ok) field.list.insertAdjacentHTML("beforeend", await answer.text()); // made and escaped by our own server
  };
  const checks = async (form) => {
    for (const field of form.querySelectorAll("[data-names]:enabled")) {
      const [path, query] = field.dataset.names.split("?");
      const url = `${path}/check?${query}&queue=${encodeURIComponent(field.value)}`;
      const answer = field.value && await fetch(url, { credentials: "same-origin" });
      const { problem } = answer && answer.ok ? await answer.json() : {};
      if (problem) throw new Error(problem);
    }
  };
  document.addEventListener("focusin", (event) => { if (event.target.matches("[data-names]")) offers(event.target); });

  const starts = async (form, answer) => {
    const dag = form.dataset.starts;
    const given = conf(form);
    await checks(form);
    const state = await call("GET", segments("dags", dag));
    if (state.is_paused) throw new Error(`The DAG ${dag} is paused, so a run would wait. Unpause it in Airflow first.`);
    const run = await begins(dag, given);
    form.dataset.started = run.dag_run_id;
    said(answer, "Started: ");
    answer.append(toPage("run", dag, run.dag_run_id, run.dag_run_id), document.createElement("span"));
    const result = document.getElementById(form.dataset.result);
    if (!result) return;
    const query = new URLSearchParams({ dag_id: dag, run_id: run.dag_run_id });
    result.replaceChildren(); // the plan of an earlier run, and its button, go now
    result.hidden = false;
    result.dataset.live = `${document.body.dataset.root}/chosen?${query}`;
    result.dataset.every = 2;
    lives(result);
  };
  const toPage = (page, dag_id, run_id, text) => {
    const link = document.createElement("a");
    link.href = `${document.body.dataset.root}/${page}?${new URLSearchParams({ dag_id, run_id })}`;
    link.textContent = text;
    return link;
  };

  // How a run ended: its note says it, where it has one (mqops_airflow/notices/notes.py). Of a table the first line, of links the text.
  const ended = (run) => {
    const note = (run.note ?? "").split("\n")[0].replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z/g, "$1 $2 UTC")
      .replace(/`|\*\*/g, "");
    return note ? `, ended. ${note}` : `, ${run.state}`;
  };

  // Tells beside its link what a run that a form has started does, until it has ended or was deleted. Returns its last
  // state.
  const ends = async (form, answer) => {
    const { starts: dag, started: run_id } = form.dataset;
    const path = segments("dags", dag, "dagRuns", run_id);
    const place = answer.querySelector("span");
    for (let told = ""; ; await new Promise((done) => setTimeout(done, 3000))) {
      const run = await call("GET", path).catch((error) => ({ state: error.status === 404 ? "deleted" : "" }));
      if (["deleted", "success", "failed"].includes(run.state)) {
        place.replaceChildren(ended(run));
        return run.state;
      }
      const asks = run.state && await call("GET", path + "/taskInstances?state=awaiting_input").catch(() => null);
      if (!asks) continue; // Airflow does not say: what was told last stays
      const now = asks.total_entries ? "waits" : run.state === "queued" ? ", queued" : ", at work";
      if (now === told) continue; // a screen reader reads out what changes
      told = now;
      if (now !== "waits") place.replaceChildren(now);
      else place.replaceChildren(". Its plan waits for an answer: ", toPage("plan", dag, run_id, "look at the plan"), ".");
    }
  };

  // A form can be sent once more when its run has ended. Until then it says why its button is grey.
  const again = async (form, answer, buttons) => {
    const why = document.createElement("p");
    why.className = "hint";
    why.textContent = "This form can be sent again when the run has ended.";
    if (form.isConnected) answer.before(why);
    const state = await ends(form, answer);
    if (form.dataset.clears) await goesOn(form, answer, state);
    if (form.dataset.then && state !== "deleted") {
      const { starts: dag_id, started: run_id } = form.dataset;
      location.assign(`${form.dataset.then}&${new URLSearchParams({ dag_id, run_id, state })}`);
    }
    why.remove();
    buttons.forEach((button) => { button.disabled = false; });
  };

  const answers = async (form, answer, option) => {
    const { dag_id, run_id, task_id } = JSON.parse(form.dataset.answers);
    const path = segments("dags", dag_id, "dagRuns", run_id, "taskInstances", task_id, "-1", "hitlDetails");
    const comment = form.elements.comment?.value.trim().replace(/\s+/g, " ");
    const given = { chosen_options: [option], params_input: comment ? { comment } : {} };
    const { chosen_options: [chosen], by = "" } = await call("PATCH", path, given)
      .then(() => given, (error) => answeredBefore(path, error));
    said(answer, `${chosen === "Approve" ? "Approved" : "Rejected"}${by}.`, chosen !== option);
  };
  // The answer that Airflow has already (409): another person's, or this one, which it stored although it answered 500.
  const answeredBefore = async (path, error) => {
    const stored = error.status === 409 ? await call("GET", path).catch(() => ({})) : {};
    if (!stored.chosen_options?.length) throw error;
    return { ...stored, by: ` already, by ${stored.responded_by_user?.name ?? "somebody"}` };
  };

  const clears = async (form) => {
    const { dag_id, run_id, task_ids } = JSON.parse(form.dataset.clears);
    const how = { dry_run: false, only_failed: false, prevent_running_task: true };
    await call("POST", `${segments("dags", dag_id)}/clearTaskInstances`, { ...how, dag_run_id: run_id, task_ids });
    form.dataset.started ??= run_id;
    return `Airflow runs ${task_ids.join(" and ")} again.`;
  };

  // While a form takes a stop back and goes on by itself, the page has no other form that goes on: Airflow would refuse
  // the second. After that it has none until the server has seen that the run goes on.
  let goesOnByItself = ""; // or "at work", then "cleared"
  const oneGoesOn = (element) => {
    const other = element.querySelector("form[data-clears]:not([data-starts])");
    if (other) other.hidden = goesOnByItself !== "";
    else if (goesOnByItself === "cleared") goesOnByItself = "";
  };

  // A stop is taken back, or is not: in what state its run has ended. What it stopped goes on.
  const goesOn = async (form, answer, state) => {
    answer.append(document.createElement("br"));
    try {
      if (state !== "success") throw new Error("nothing was cleared.");
      answer.append(await clears(form));
      goesOnByItself = "cleared";
    } catch (error) {
      goesOnByItself = "";
      oneGoesOn(document);
      answer.append(`The stopped run does not go on: ${error.message}`);
      answer.classList.add("bad");
    }
  };

  // The first press on a button with data-twice shows another button, elsewhere: a double click, or a key that is held
  // down, is no second decision.
  const asksTwice = (button, answer) => {
    const words = button?.dataset.twice;
    if (!words) return false;
    const second = document.createElement("button");
    [second.type, second.value, second.className, second.textContent] = ["submit", button.value, "bad", words];
    button.form.querySelector("[data-second]")?.remove();
    second.dataset.second = "";
    button.disabled = true;
    answer.before(second);
    said(answer, `Messages that are discarded are on no queue any more. To approve, press "${words}".`);
    return true;
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.dataset.starts && !form.dataset.answers && !form.dataset.clears) return;
    event.preventDefault();
    const answer = form.querySelector(".answer");
    if (asksTwice(event.submitter, answer)) return;
    const buttons = [...form.querySelectorAll("button:not(.copy)")];
    buttons.forEach((button) => { button.disabled = true; });
    try {
      form.dataset.title = (form.closest("details")?.querySelector("summary") ?? event.submitter).innerText.trim();
      if (form.dataset.starts) {
        form.dataset.sends = "yes";
        await starts(form, answer);
        if (form.dataset.clears) goesOnByItself = "at work";
        again(form, answer, buttons);
      } else if (form.dataset.clears) said(answer, await clears(form));
      else await answers(form, answer, event.submitter.value);
    } catch (error) {
      said(answer, error.message, true);
      buttons.forEach((button) => { button.disabled = false; });
    } finally {
      delete form.dataset.sends;
    }
  });

  // The fields that the chosen action has.
  const suits = (form) => {
    for (const one of form.querySelectorAll("[data-for]")) {
      const action = form.elements.action.value;
      one.hidden = one.disabled = !one.dataset.for.split(" ").includes(action);
      const queue = one.querySelector("[data-names]");
      if (queue) queue.required = action !== "park";
    }
  };
  document.addEventListener("change", (event) => {
    if (event.target.name === "action") suits(event.target.form);
    if (event.target.matches("[data-every]")) { // who chooses all sees that ticks do not count
      event.target.form.querySelectorAll("[data-listed], [data-ticks]").forEach((one) => {
        one.disabled = event.target.value !== "";
      });
    }
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
    if (event.target.matches("[data-ticks]")) {
      event.target.form.querySelectorAll("[data-listed]").forEach((one) => {
        if (!one.closest("tr[hidden]")) one.checked = event.target.checked; // not those that a filter hides
      });
    }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copies], button[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copies);
    const text = button.dataset.copy ?? source.textContent;
    const status = document.getElementById("said");
    try {
      await navigator.clipboard.writeText(text);
      said(status, "Copied.");
    } catch {
      if (source) window.getSelection().selectAllChildren(source);
      else { // what is shown may be the ends of a name only
        const field = document.createElement("input");
        field.readOnly = true;
        field.value = text;
        field.setAttribute("aria-label", "Text to copy");
        button.replaceWith(field);
        field.select();
      }
      said(status, "Selected: copy it with the keyboard.");
    }
  });

  // Airflow's frame may not open another page in the window. A link of the window's own document may.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-airflow-page]");
    const airflow = outer();
    if (!link || !airflow) return;
    event.preventDefault();
    const own = airflow.document.createElement("a");
    own.href = link.href;
    airflow.document.body.append(own);
    own.click();
    own.remove();
  });

  // Airflow's menu entry leaves the frame on the page where it is if it shows one of ours already: go to the entry's.
  const toEstate = (event) => {
    const entry = event.target.closest?.("a[href$='/plugin/mqops-estate-nav']");
    if (entry && !(event.metaKey || event.ctrlKey || event.shiftKey)) {
      location.assign(`${document.body.dataset.root}/estate`);
    }
  };
  if (outer()) {
    const menu = outer().document;
    menu.addEventListener("click", toEstate);
    window.addEventListener("pagehide", () => menu.removeEventListener("click", toEstate));
  }

  // Whether the person selects text in an element, or holds a button or link of it down.
  const selects = (element) => {
    const chosen = window.getSelection();
    return element.matches(":active") || (!chosen.isCollapsed && element.contains(chosen.anchorNode));
  };
  const same = (element, old) => [...element.querySelectorAll(old.tagName)].find((one) =>
    ["id", "href", "aria-label"].every((name) => one.getAttribute(name) === old.getAttribute(name)));

  // What became of a form that was sent stays above the part, though the part no longer has the form: of the last one.
  // The server may have begun its run before the page knows the run's name.
  const outlive = (element, old) => {
    for (const form of [old, ...old.querySelectorAll("form")]) {
      const answer = (form.dataset.started || form.dataset.sends) && form.querySelector(".answer");
      if (!answer) continue;
      answer.dataset.of = `${form.dataset.title}. `;
      answer.prepend(answer.dataset.of);
      answer.classList.add("outlives");
      document.querySelectorAll(".outlives").forEach((earlier) => { earlier.remove(); });
      element.before(answer);
    }
  };

  // Only the rows and lines in which the text of the filter is found.
  const filter = () => {
    const text = document.querySelector("[data-filters]")?.value.trim().toLowerCase() ?? "";
    const all = [...document.querySelectorAll("[data-filtered] :is(tbody tr, li)")];
    for (const one of all) one.hidden = !one.textContent.toLowerCase().includes(text);
    const told = document.querySelector("[data-fitting]"); // a screen reader reads out what changes
    const fit = `${all.filter((one) => !one.hidden).length} of ${all.length} fit.`;
    if (told && told.textContent !== (text ? fit : "")) told.textContent = text ? fit : "";
  };
  document.addEventListener("input", (event) => { if (event.target.matches("[data-filters]")) filter(); });
  document.addEventListener("submit", (event) => { if (event.target.matches(".filter")) event.preventDefault(); });

  // A list from which a person has chosen stays, with the result of its dry run, though the server has another list by
  // now: until the person asks for that.
  const chosenFrom = new WeakSet();
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-result]");
    if (form) chosenFrom.add(form);
  });
  const holds = (element, text) => {
    const now = new DOMParser().parseFromString(text, "text/html"); // asked for ids, never shown
    return [...element.querySelectorAll("form[data-result]")].some((one) => chosenFrom.has(one) && !now.getElementById(one.id));
  };
  const newer = (element) => {
    if (element.previousElementSibling?.matches(".newer")) return;
    const [note, button] = [document.createElement("p"), document.createElement("button")];
    [note.className, button.type, button.textContent] = ["problem note newer", "button", "Show the newer list"];
    note.setAttribute("role", "status");
    note.append("There is a newer list. Yours stays as you have filled it in. ", button);
    button.addEventListener("click", () => {
      element.querySelectorAll("form[data-result]").forEach((one) => chosenFrom.delete(one));
      note.remove();
      refresh(element);
    });
    element.before(note);
  };

  // The new content, with what the person has opened, typed, focused and scrolled.
  const replace = (element, text) => {
    const focused = element.contains(document.activeElement) ? document.activeElement : null;
    const scrolled = [...element.querySelectorAll(".scrolls")].map((one) => [one, one.scrollLeft]);
    const kept = [...element.querySelectorAll("[data-keeps]")];
    const place = [window.scrollX, window.scrollY];
    if (element.previousElementSibling?.matches(".newer")) element.previousElementSibling.remove();
    element.innerHTML = text; // made and escaped by our own server; no script in it would run
    window.mqopsTables.made(element);
    filter();
    for (const old of kept) {
      const now = element.querySelector("#" + CSS.escape(old.id));
      if (now && old.dataset.keeps === "open") now.open = old.open;
      else if (now) now.replaceWith(old);
      else outlive(element, old);
    }
    oneGoesOn(element);
    for (const [old, left] of scrolled) {
      const now = left && same(element, old);
      if (now) now.scrollLeft = left;
    }
    window.mqopsTables.fold(...place);
    if (focused) (focused.isConnected ? focused : same(element, focused))?.focus({ preventScroll: true });
  };

  // One request at a time for each part: a slow server is not asked again before it has answered. It answers 304 where
  // nothing is new.
  const known = new WeakMap();
  const figuresOf = new WeakMap(); // when the server has given a part last
  const opened = new Date();
  const clock = (time) => `${time.toISOString().slice(11, 19)} UTC`;
  class SessionOver extends Error {}
  const asked = new WeakSet();
  const refresh = async (element) => {
    if (document.hidden || selects(element) || asked.has(element)) return;
    asked.add(element);
    const url = element.dataset.live;
    try {
      const headers = known.has(element) ? { "If-None-Match": known.get(element) } : {};
      const answer = await fetch(url, { credentials: "same-origin", headers });
      if (answer.status !== 304) {
        if (answer.status === 401) throw new SessionOver(SESSION_OVER);
        if (!answer.ok) throw new Error(`The server answers ${answer.status}.`);
        const text = await answer.text();
        if (selects(element) || element.dataset.live !== url) return; // another run is asked about meanwhile
        if (holds(element, text)) return newer(element);
        replace(element, text);
        known.set(element, answer.headers.get("ETag"));
      }
      if (element.classList.contains("stale")) cutOff("");
      element.classList.remove("stale");
      figuresOf.set(element, new Date());
      if (element.querySelector("[data-over]")) element.removeAttribute("data-live");
    } catch (error) {
      element.classList.add("stale");
      const over = error instanceof SessionOver;
      const why = error instanceof TypeError ? "The server does not answer." : error.message; // no answer came at all
      cutOff(`${why} These are the figures of ${clock(figuresOf.get(element) ?? opened)}.`, over);
    } finally {
      asked.delete(element);
    }
  };

  const timers = new WeakMap();
  const lives = (element) => {
    clearInterval(timers.get(element));
    known.delete(element);
    timers.set(element, setInterval(() => {
      if (element.dataset.live) refresh(element);
      else clearInterval(timers.get(element));
    }, 1000 * Number(element.dataset.every || 5)));
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-live]").forEach(lives);
    document.querySelectorAll("form:has([data-for])").forEach(suits);
    if (document.querySelector("[data-awaited]")) {
      setInterval(async () => {
        const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => ({}));
        const over = answer.status === 404 && !(await answer.text()).includes("data-awaited"); // it ended without files
        if (answer.ok || over) location.reload();
      }, 2000);
    }
    leadBack();
    document.documentElement.dataset.ready = "yes";
  });
})();
