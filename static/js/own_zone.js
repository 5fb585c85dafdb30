// Whoever makes an account most likely lives by the clock of this browser. The server takes the zones that it knows.
for (const field of document.querySelectorAll("[data-own-zone]")) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
