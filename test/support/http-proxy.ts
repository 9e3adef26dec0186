/** An HTTP proxy on loopback that leads every request and every CONNECT to one port. */
import { connect, createServer, type AddressInfo, type Server } from "node:net";

export function httpProxy(to: () => number): Promise<{ server: Server; port: number; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((socket) => {
    socket.once("data", (first) => {
      const head = first.toString("latin1");
      seen.push(head.split("\r\n")[0] ?? "");
      if (/proxy-authorization/i.test(head)) seen.push("with credentials");
      const onward = connect(to(), "127.0.0.1", () => {
        if (head.startsWith("CONNECT")) socket.write("HTTP/1.1 200 Connected\r\n\r\n");
        else onward.write(first.toString("latin1").replace(/^(\S+) http:\/\/[^/]+/, "$1 "), "latin1");
        socket.pipe(onward).pipe(socket);
      });
      onward.on("error", () => socket.destroy());
    });
    socket.on("error", () => {});
  });
  const { promise, resolve } = Promise.withResolvers<{ server: Server; port: number; seen: string[] }>();
  server.listen(0, "127.0.0.1", () => resolve({ server, port: (server.address() as AddressInfo).port, seen }));
  return promise;
}
