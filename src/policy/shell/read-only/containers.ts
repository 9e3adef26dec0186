/** docker and podman: what they show of containers, images, volumes and networks of this machine. */
import { always, only, type Proof, type ReadOnlyRow, subcommands } from "./proof.ts";

const inspect = only({ short: "s", values: "f", long: ["size"], longValues: ["format", "type"] });
const list = only({
  short: "aqsn",
  values: "fn",
  long: ["all", "quiet", "size", "no-trunc", "latest", "digests"],
  longValues: ["filter", "format", "last"],
});
const logs = only({
  short: "ft",
  values: "n",
  long: ["follow", "timestamps", "details", "no-color", "no-log-prefix"],
  longValues: ["tail", "since", "until"],
});
const stats = only({ short: "a", long: ["all", "no-stream", "no-trunc"], longValues: ["format"] });

const container: Readonly<Record<string, Proof>> = {
  ls: list,
  list,
  ps: list,
  inspect,
  logs,
  top: always,
  stats,
  port: always,
  diff: always,
};
const image: Readonly<Record<string, Proof>> = { ls: list, list, inspect, history: list };
const local = subcommands(
  {
    ps: list,
    logs,
    ls: list,
    images: list,
    top: always,
    version: inspect,
    port: always,
    config: only({ short: "q", long: ["quiet", "services", "volumes", "images", "profiles", "no-interpolate"] }),
  },
  { values: "fp", longValues: ["file", "project-name"] },
);
/** A compose file may be fetched. */
const compose: Proof = (args) =>
  args.some((word) => /:\/\/|^oci:|@.*:|\.git\b/.test(word)) ? "may use the network" : local(args);

export const CONTAINERS: readonly ReadOnlyRow[] = [
  {
    programs: ["docker", "podman", "nerdctl"],
    proof: subcommands(
      {
        ...container,
        images: list,
        history: list,
        info: inspect,
        version: inspect,
        image: subcommands(image),
        container: subcommands(container),
        volume: subcommands({ ls: list, inspect }),
        network: subcommands({ ls: list, inspect }),
        system: subcommands({ df: only({ short: "v", long: ["verbose"], longValues: ["format"] }), info: inspect }),
        compose,
        pod: subcommands({ ps: list, ls: list, list, inspect }),
      },
      {
        long: ["debug", "version", "help"],
        none: (args) => (args.includes("--version") || args.includes("--help") ? undefined : "without a subcommand"),
      },
    ),
    yes: [
      "docker ps -a",
      "docker logs --tail 50 web",
      "docker logs -f web",
      "docker inspect -f '{{.State}}' web",
      "docker images",
      "docker stats --no-stream",
      "docker compose ps",
      "docker compose logs --tail=10 web",
      "docker volume ls",
      "docker network inspect bridge",
      "docker system df",
      "docker container ls",
      "podman ps",
      "docker top web",
      "docker version",
      "docker --version",
    ],
    no: [
      "docker run x",
      "docker exec web ls",
      "docker rm web",
      "docker stop web",
      "docker -H tcp://x ps",
      "docker --context x ps",
      "docker compose up",
      "docker compose -f https://x/y.git config",
      "docker compose -f git@x:y.git ps",
      "docker system prune -f",
      "docker pull x",
      "docker cp a b",
      "docker build .",
      "docker volume rm x",
      "docker search x",
      "docker $X",
      "docker",
    ],
  },
  {
    programs: ["docker-compose"],
    proof: compose,
    yes: ["docker-compose ps", "docker-compose logs --tail=5 web", "docker-compose config -q"],
    no: ["docker-compose up", "docker-compose config -o f", "docker-compose down"],
  },
];
