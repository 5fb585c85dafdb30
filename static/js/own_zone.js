// Whoever makes an account most likely lives by the clock of this browser. The server takes the zones that it knows.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";

for (const field of document.querySelectorAll("[data-own-zone]")) field.value = zone;
for (const link of document.querySelectorAll("[data-own-zone-link]")) {
  const url = new URL(link.href);
  url.searchParams.set("time_zone", zone);
  link.href = url;
}
