// The URL of a path that is absolute or relative to the page. If the page was opened as user:password@host, the browser
// sends these by itself, but rejects URLs that contain them.
export function addressOf(path) {
    const url = new URL(path, location.href);
    url.username = url.password = '';
    return url;
}
