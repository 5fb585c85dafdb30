/* Passkeys: a form whose hidden field is filled by the browser's own dialogue. What is asked comes from the server, what
   is answered goes back with the form; nothing is decided here. */

const NO_NAME = "SecurityError";
const HELD = "InvalidStateError";

function bytes(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

function text(buffer) {
  const plain = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function listed(credentials) {
  return (credentials ?? []).map((credential) => ({ ...credential, id: bytes(credential.id) }));
}

/* The options as the server says them, with bytes where the browser wants bytes. */
export function optionsOf(asked) {
  const options = { ...asked.publicKey, challenge: bytes(asked.publicKey.challenge) };
  if (options.user) {
    options.user = { ...options.user, id: bytes(options.user.id) };
    options.excludeCredentials = listed(options.excludeCredentials);
  } else {
    options.allowCredentials = listed(options.allowCredentials);
  }
  return { publicKey: options };
}

/* What the browser answered, as JSON can say it. */
export function answerOf(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) {
      response[name] = text(credential.response[name]);
    }
  }
  return {
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? null,
    clientExtensionResults: credential.getClientExtensionResults(),
    response,
  };
}

async function asked(form) {
  if (form.dataset.passkey === "create") {
    return JSON.parse(document.getElementById("asked").textContent);
  }
  const token = form.elements.csrfmiddlewaretoken.value;
  const answer = await fetch(form.dataset.ask, { method: "POST", headers: { "X-CSRFToken": token } });
  if (!answer.ok) {
    throw new Error(`${form.dataset.ask} answered ${answer.status}`);
  }
  return answer.json();
}

function sentence(form, error) {
  if (error.name === NO_NAME) {
    return form.dataset.sayName;
  }
  return (error.name === HELD && form.dataset.sayHeld) || form.dataset.sayNo;
}

async function use(form) {
  const button = form.querySelector("button[type=submit]");
  const wrong = form.querySelector("p.form-error[hidden], p.form-error:not([hidden])");
  button.disabled = true;
  wrong.hidden = true;
  try {
    const options = optionsOf(await asked(form));
    const made = form.dataset.passkey === "create"
      ? await navigator.credentials.create(options)
      : await navigator.credentials.get(options);
    form.elements.credential.value = JSON.stringify(answerOf(made));
    form.submit();
  } catch (error) {
    wrong.textContent = sentence(form, error);
    wrong.hidden = false;
    button.disabled = false;
  }
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (window.PublicKeyCredential) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      use(form);
    });
  }
}
