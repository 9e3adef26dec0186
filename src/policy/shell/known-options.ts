/**
 * Programs with options that can run something, and those of their options that run nothing. `shell_allow`, the
 * developer preset and "always" use this table.
 */
import { once } from "../../lib/values.ts";
import { programName } from "./syntax/field.ts";

/**
 * A row: `program [subcommand]: options`; programs with the same options are separated by `|`. `-x=` takes a value,
 * which is text or a path that is not run; `--` allows anything after `--`.
 */
const TABLE = `
git add: -v -n -N -p -i -u -A -f --verbose --dry-run --intent-to-add --patch --update --all --force
git commit: -a -v -q -s -n -m= -F= -C= -e --all --amend --no-edit --edit --message= --file= --allow-empty --signoff --no-verify --quiet --verbose --fixup= --squash= --author= --date= --dry-run
git switch: -c= -q -d -t --create= --detach --quiet --guess --no-guess --track
git checkout: -b= -q -t -f --quiet --track --detach --force --ours --theirs
git stash: -u -m= -k -q -p --include-untracked --message= --keep-index --index --quiet --patch
git fetch: -p -t -n -q -v -a -4 -6 -f -j= --prune --tags --no-tags --all --quiet --verbose --depth= --unshallow --dry-run --append --force --jobs= --prune-tags --progress
git pull: -p -q -v -r -t --prune --rebase --no-rebase --ff-only --ff --no-ff --autostash --no-autostash --no-edit --quiet --verbose --tags --depth= --all
git push: -f -u -d -n -q -v --force --force-with-lease --force-if-includes --set-upstream --tags --all --delete --dry-run --quiet --verbose --no-verify --follow-tags --prune --atomic --mirror --progress -o= --push-option=
git merge: -q -v -n -m= --no-ff --ff-only --ff --squash --abort --continue --no-edit --no-commit --quiet --message= -X=
git mv: -v -n -k -f --verbose --dry-run --force
git rm: -r -f -q -n --cached --force --quiet --dry-run
git restore: --staged --worktree -S -W -q -s= --source= --quiet
git reset: -q --soft --mixed --hard --keep --merge --quiet
git revert: -n -m= --no-edit --no-commit --abort --continue
git cherry-pick: -n -x -m= --no-commit --abort --continue --skip
git tag: -a -d -f -l -n -m= --list --delete --annotate --force --message=
git branch: -a -d -D -m -M -r -v -f -u= --list --delete --all --remotes --move --force --set-upstream-to= --show-current
git clean: -d -f -n -x -X -q --dry-run --force
git worktree: -f -b= -d --force --detach
git clone: -q -v -n -b= --depth= --branch= --single-branch --bare --mirror --quiet --verbose --no-checkout --recurse-submodules --no-tags
git init: -q -b= --bare --quiet --initial-branch=
git remote: -v -n --verbose
git submodule: -q --init --recursive --quiet --remote
git: -v --version --help
make: -n -k -s -B -i -w -S -t -q -j= -l= -C= -O= --dry-run --just-print --keep-going --silent --quiet --always-make --ignore-errors --jobs= --directory= --no-print-directory --touch --question --output-sync=
ninja: -n -v -j= -k= -l= -C= --verbose --quiet
cmake --build: -j= -v --parallel= --target= -t= --config= --clean-first --verbose
ctest: -V -j= -R= -E= -L= -N --output-on-failure --verbose --parallel= --test-dir= --rerun-failed
meson: -C= -v -j= --verbose --num-processes= --print-errorlogs --no-rebuild --suite=
just: -l -n -v -q --list --dry-run --verbose --quiet --summary
task: -l -n -v -s --list --dry --verbose --silent --list-all
npm: -s -w= -D -E -P -g --silent --quiet --if-present --workspace= --workspaces --no-audit --no-fund --ignore-scripts --prefer-offline --omit= --include= --production --legacy-peer-deps --save-dev --save-exact --save --no-save --depth= --all --json --dry-run --
pnpm: -r -s -w -D -E --recursive --silent --frozen-lockfile --offline --prefer-offline --ignore-scripts --prod --dev --save-dev --if-present --filter= --
yarn: -s -D -E --silent --frozen-lockfile --immutable --offline --ignore-scripts --production --dev --check-files --
bun: -d -t= -w --silent --frozen-lockfile --production --ignore-scripts --dev --timeout= --bail --coverage --only --todo --watch --
deno: -q --quiet --check --fix --no-lock --frozen --ignore= --json --fail-fast --filter= --parallel
cargo: -p= -j= -v -q -r --release --package= --workspace --all --all-targets --all-features --no-default-features --features= --bin= --lib --bins --tests --test= --example= --examples --benches --bench= --jobs= --verbose --quiet --offline --locked --frozen --no-run --no-fail-fast --doc --keep-going --check --fix --allow-dirty --allow-staged --no-deps --open --profile= --
go: -v -x -n -race -short -count= -run= -bench= -benchmem -timeout= -cover -covermode= -coverpkg= -parallel= -cpu= -p= -failfast -json -list= -shuffle= -skip= -tags= -trimpath -mod= -msan -asan -a -benchtime= -fuzztime= -s -w -l -d -e
gofmt: -l -w -d -s -e
pytest: -x -v -q -s -l -k= -m= -n= -r= --lf --ff --sw --nf --maxfail= --tb= --durations= --co --collect-only --no-header --no-summary --verbose --quiet --exitfirst --last-failed --failed-first --capture= --color= --cov= --cov-report= --strict-markers --disable-warnings
python: -m=
python3: -m=
tox: -e= -p= -q -v -r --parallel= --recreate
nox: -s= -l -R -r --list --session= --sessions=
ruff: -q -v --fix --check --diff --unsafe-fixes --select= --ignore= --output-format= --statistics --watch --quiet --verbose --no-cache --line-length=
black: -q -v -l= -S --check --diff --color --fast --safe --quiet --verbose --line-length= --target-version=
mypy: -v --strict --ignore-missing-imports --show-error-codes --no-incremental --pretty -p= -m= --package= --module=
pyright: --stats --verbose --outputjson --warnings
flake8: -v -q --count --statistics --show-source --max-line-length= --select= --ignore= --extend-ignore=
isort: -c -q -v --check --check-only --diff --profile=
uv: -q -v --frozen --locked --no-dev --all-extras --extra= --group= --offline
poetry: -q -v -n --no-interaction --no-root --only= --with= --without= --sync --no-dev
tsc: -b -w -p= -v --build --noEmit --watch --project= --pretty --incremental --skipLibCheck --strict --listFiles --showConfig --version
eslint: --fix --quiet --ext= --max-warnings= --cache --no-cache --fix-dry-run --color --no-color
prettier: -c -w -l --check --write --list-different --log-level= --no-color
biome: --write --fix --unsafe --diagnostic-level= --max-diagnostics= --no-errors-on-unmatched
oxlint: --fix --quiet --deny-warnings --max-warnings= -D= -A= -W=
vitest: -t= --run --watch --coverage --bail= --silent --changed --ui --testNamePattern=
jest: -t= -i -o -u -w= --watch --watchAll --coverage --verbose --silent --bail --ci --testNamePattern= --onlyChanged --runInBand --updateSnapshot --no-coverage --maxWorkers=
npx: --no-install --no -y --yes --quiet
mvn: -q -B -o -U -e -X -V -T= -pl= -am -amd -DskipTests -Dmaven.test.skip=true --quiet --batch-mode --offline --errors --no-transfer-progress -ntp -fae -ff
gradle: -q -i -w --quiet --info --warn --stacktrace --offline --parallel --no-daemon --daemon --build-cache --no-build-cache --continue --rerun-tasks --dry-run -m -x= --exclude-task= --console= --scan
gradlew: -q -i -w --quiet --info --warn --stacktrace --offline --parallel --no-daemon --daemon --build-cache --no-build-cache --continue --rerun-tasks --dry-run -m -x= --exclude-task= --console=
dotnet: -c= -f= -r= -v= --configuration= --framework= --runtime= --verbosity= --no-restore --no-build --nologo --filter=
swift: -c= -v -j= --configuration= --verbose --parallel --filter= --skip= --build-tests
mix: --trace --force --warnings-as-errors --cover --failed --stale --max-failures= --seed= --only= --exclude=
bundle: -j= --jobs= --quiet --local --retry= --deployment --without= --frozen
rake: -q -s -v -n -t -j= --quiet --silent --verbose --dry-run --trace
composer: -n -q -v -o --no-dev --no-interaction --prefer-dist --no-scripts --no-plugins --optimize-autoloader --no-progress --dry-run
phpunit: -v --filter= --testsuite= --group= --stop-on-failure --stop-on-error --testdox --colors= --no-coverage
shellcheck: -x -a -C -f= -s= -S= -e= -i= -o= --severity= --format= --shell= --exclude= --color= --external-sources
shfmt: -w -d -l -s -i= -ci -bn -sr -ln=
terraform: -recursive -check -diff -json -no-color -write=
mkdir: -p -v -m= --parents --verbose --mode=
touch: -a -c -m -d= -t= -r= -h --no-create --date= --reference=
cp: -r -R -a -f -i -n -p -u -v -L -P -d --recursive --archive --force --no-clobber --preserve --update --verbose
mv: -f -i -n -u -v --force --no-clobber --update --verbose
rm: -r -R -f -i -d -v --recursive --force --verbose --dir
ln: -s -f -n -v -r --symbolic --force --verbose --relative
chmod: -R -v -c -f --recursive --verbose
chown: -R -v -c -h -f --recursive --verbose
tar: -c -x -t -v -z -j -J -k -p -f= -C= --create --extract --list --verbose --gzip --bzip2 --xz --zstd --file= --directory= --exclude= --strip-components=
rsync: -a -r -v -z -n -h -u -t -p -o -g -l -L -H -P -q -x -c -i -m --archive --recursive --verbose --compress --dry-run --update --progress --partial --delete --exclude= --include= --stats --human-readable --quiet --checksum --times
scp: -r -p -q -v -C -B -3 -4 -6 -P= -i= -l=
ssh: -t -T -q -v -n -N -f -C -a -x -4 -6 -p= -l= -i=
zip: -r -q -v -u -j -9 -1 -x= --exclude=
curl: -s -S -f -L -i -I -k -v -g -N -4 -6 -o= -O -X= -H= -d= -G -A= -e= -m= -w= --silent --show-error --fail --location --head --include --insecure --output= --request= --header= --data= --max-time= --connect-timeout= --compressed --retry= --get --json=
wget: -q -nv -O= -c -N -P= -T= -t= --quiet --output-document= --continue --timeout= --tries= --no-verbose
systemctl: -q -f -l -a --quiet --force --now --no-block --no-pager --wait --user --system --full --all --type= --state= --lines= -n= --plain --no-legend
journalctl: -u= -n= -f -r -e -x -b -k -p= -S= -U= --unit= --lines= --follow --since= --until= --no-pager --priority= -o= --output=
apt-get: -y -q -s -qq --yes --quiet --no-install-recommends --simulate --dry-run --only-upgrade
apt: -y -q -s --yes --quiet --no-install-recommends --simulate --only-upgrade
docker: -a -q -f= -t= -n= --all --quiet --filter= --format= --tail= --since= --follow --no-cache --pull --no-trunc -d --detach --build --remove-orphans --timestamps --time=
podman: -a -q -f= -t= -n= --all --quiet --filter= --format= --tail= --since= --follow --no-cache --pull --no-trunc -d --detach
kubectl: -n= -o= -l= -f= -A -w -c= --namespace= --output= --selector= --all-namespaces --filename= --watch --container= --tail= --since= --follow --context= --replicas= --timeout= --dry-run= --all --wait --grace-period= -p --previous
helm: -n= -f= -i --namespace= --values= --install --wait --timeout= --version= --set= --atomic --dry-run --create-namespace
pip: -q -v -r= -e= -U --quiet --verbose --requirement= --upgrade --user --no-deps --editable=
pip3: -q -v -r= -e= -U --quiet --verbose --requirement= --upgrade --user --no-deps --editable=
man: -a -f -k -w -K= -S= -s= --all --whatis --apropos --where --path
sort: -n -r -u -h -b -f -V -M -g -i -d -s -c -C -m -z -k= -t= -o= -S= -T= --numeric-sort --reverse --unique --human-numeric-sort --version-sort --ignore-case --stable --key= --field-separator= --output= --check --parallel=
split: -d -x -l= -b= -C= -n= -a= --lines= --bytes= --number= --suffix-length= --numeric-suffixes --additional-suffix=
rg: -i -S -s -v -w -x -F -n -N -l -c -o -q -U -u -uu -H -h -a -A= -B= -C= -e= -g= -t= -T= -m= -j= --hidden --no-ignore --files --json --type= --glob= --line-number --ignore-case --files-with-matches --count --context= --max-count= --max-depth= --sort= --stats --heading --no-heading --color=
fd|fdfind: -H -I -u -s -i -g -F -a -l -L -p -0 -d= -t= -e= -E= -S= --hidden --no-ignore --case-sensitive --ignore-case --glob --absolute-path --list-details --follow --full-path --max-depth= --type= --extension= --exclude= --size= --changed-within= --changed-before=
tcpdump: -n -nn -e -q -t -tttt -v -vv -x -X -A -S -D -l -p -U -i= -r= -c= -s= -w= -C= -W= -G=
rpm: -q -a -i -l -f -p -c -d -s -V -K -U -F -v -h -e -qa -qi -ql -qf --query --all --info --list --file --package --verify --install --upgrade --erase --last --changelog --requires --provides --nodeps --force --test --queryformat= --qf=
dpkg: -l -L -s -S -c -I -i -r -P -p -V -C -G -E -R --list --listfiles --status --search --contents --info --install --remove --purge --verify --audit --configure --get-selections --print-architecture --dry-run
gcc|cc|c++|g++|clang|clang++: -c -S -E -g -v -o= -I= -L= -l= -D= -U= -O -O0 -O1 -O2 -O3 -Os -Og -Wall -Wextra -Werror -Wpedantic -pedantic -std= -pthread -fPIC -shared -static -march= -mtune= -MMD -MD -MP -MF= -x=
psql: -h= -p= -U= -d= -l -t -A -x -q -X -w -W --host= --port= --username= --dbname= --list --tuples-only --no-align --expanded --quiet --no-psqlrc --csv
mysql|mariadb: -h= -P= -u= -D= -p -t -N -B -s -E -A --host= --port= --user= --database= --table --batch --silent --skip-column-names
gdb: -p= -q -n -nx -nh -batch --pid= --quiet --batch
strace|ltrace: -f -c -C -t -tt -ttt -T -r -y -yy -v -q -i -k -p= -e= -s= -P= -S=
nc|ncat|netcat: -l -z -v -n -u -k -4 -6 -N -w= -p= -s= -q= -i=
rclone: -v -P -q -n -i --progress --dry-run --verbose --quiet --transfers= --checkers= --exclude= --include= --max-depth= --stats= --checksum --size-only --update --human-readable
restic: -r= -v -q -n -H= --repo= --verbose --quiet --json --tag= --host= --path= --exclude= --dry-run --keep-last= --keep-daily= --keep-weekly= --keep-monthly= --prune --no-lock
borg: -v -p -n -s -C= -e= --verbose --info --list --stats --progress --json --dry-run --compression= --exclude= --last= --first= --short
sftp: -4 -6 -a -C -p -q -r -v -P= -i= -l=
autossh: -t -T -q -v -n -N -f -C -a -x -4 -6 -M= -p= -l= -i=
mosh: -4 -6 -a -n -p=
svn: -q -v -u -r= -c= -m= -F= -N --depth= --quiet --verbose --revision= --change= --message= --file= --force --dry-run --non-interactive --parents
hg: -q -v -u -A -n -r= -m= -l= -R= -B= -b= --quiet --verbose --update --rev= --message= --branch= --bookmark= --dry-run --stat
pandoc: -s -f= -t= -o= -r= -w= -N --from= --to= --output= --standalone --toc --wrap= --number-sections
nmap: -n -v -F -A -O -6 -p= -Pn -sn -sT -sS -sU -sV -T0 -T1 -T2 -T3 -T4 -T5 -oN= -oG= -oX= -iL= --open --top-ports= --reason --max-retries=
ansible-playbook: -v -vv -vvv -C -D -b -k -K -l= -t= -u= -f= --limit= --tags= --skip-tags= --check --diff --become --user= --forks= --list-hosts --list-tasks --list-tags --syntax-check --start-at-task=
cpio: -i -o -p -d -m -u -v -t -0 --extract --create --list --verbose --quiet --make-directories --preserve-modification-time --no-absolute-filenames
logrotate: -d -f -v --debug --force --verbose
`;

interface Row {
  /** Whether the option takes a value. */
  readonly options: ReadonlyMap<string, boolean>;
  /** Words after `--` are for a program of the project. */
  readonly free: boolean;
}

const table = once(
  () =>
    new Map(
      TABLE.trim()
        .split("\n")
        .flatMap((line) => {
          const colon = line.indexOf(": ");
          const options = line.slice(colon + 2).split(" ");
          const row: Row = {
            options: new Map(options.map((word) => [word.replace(/=$/, ""), word.endsWith("=")])),
            free: options.includes("--"),
          };
          return line
            .slice(0, colon)
            .split("|")
            .map((name) => [name, row] as const);
        }),
    ),
);

/** The row of a program, or of its subcommand; undefined: the program is not in the table. */
export function rowOf(words: readonly string[]): { readonly row: Row; readonly from: number } | undefined {
  const program = programName(words[0] ?? "");
  const whole = table().get(program);
  if (program === "git") {
    let at = 1;
    for (; words[at]?.startsWith("-") === true; at++) {
      if (words[at] === "-C") at++;
      else if (words[at] !== "--no-pager" && words[at] !== "-P") return { row: whole as Row, from: 1 };
    }
    const row = table().get(`git ${words[at] ?? ""}`) ?? (whole as Row);
    return { row, from: at + 1 };
  }
  const nested = table().get(`${program} ${words[1] ?? ""}`);
  if (nested !== undefined) return { row: nested, from: 2 };
  return whole === undefined ? undefined : { row: whole, from: 1 };
}

export interface SeenOption {
  readonly name: string;
  readonly value: string | undefined;
  /** It is in the table. */
  readonly known: boolean;
}

/** The options and operands from index `from` on. A word after an unknown option may be its value. */
export function readOptions(
  words: readonly string[],
  from: number,
  row: Row | undefined,
): { options: readonly SeenOption[]; operands: readonly string[] } {
  const options: SeenOption[] = [];
  const operands: string[] = [];
  const seen = (name: string, value: string | undefined, known: boolean) => options.push({ name, value, known });
  for (let at = from; at < words.length; at++) {
    const word = words[at] as string;
    if (word === "--") {
      for (const rest of words.slice(at + 1))
        if (row?.free === true || !rest.startsWith("-")) operands.push(rest);
        else seen(rest, undefined, false);
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      // `make CC=x`: a variable is a setting, not a target.
      if (/^[A-Za-z_][\w.]*[:+?!]*=/.test(word)) seen(word, undefined, false);
      else operands.push(word);
      continue;
    }
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    const takes = row?.options.get(word) ?? row?.options.get(name);
    if (takes !== undefined && (equals < 0 || takes || row?.options.has(word) === true)) {
      seen(
        equals >= 0 && !takes ? word : name,
        takes ? (equals < 0 ? words[++at] : word.slice(equals + 1)) : undefined,
        true,
      );
      continue;
    }
    if (
      word.startsWith("--") ||
      !bundled(
        word,
        row,
        (letter, value) => seen(letter, value ?? undefined, true),
        () => words[++at],
      )
    ) {
      const next = words[at + 1];
      const value = equals < 0 && next !== undefined && !next.startsWith("-") ? next : undefined;
      // The next word is not skipped: it may be an operand as well.
      seen(word, value, false);
    }
  }
  return { options, operands };
}

/** `-xvf FILE`, `-j4`: letters of the table; the last one may take a value. */
function bundled(
  word: string,
  row: Row | undefined,
  seen: (letter: string, value: string | undefined) => void,
  next: () => string | undefined,
): boolean {
  if (row === undefined) return false;
  const letters: [string, string | undefined | true][] = [];
  for (let at = 1; at < word.length; at++) {
    const letter = `-${word[at]}`;
    const takes = row.options.get(letter);
    if (takes === undefined) return false;
    if (!takes) letters.push([letter, undefined]);
    else {
      const rest = word.slice(at + 1);
      letters.push([letter, rest === "" ? true : rest]);
      break;
    }
  }
  for (const [letter, value] of letters) seen(letter, value === true ? next() : value);
  return true;
}

/**
 * An option that the table does not list, for a program whose options can run something. `listed`: words of the
 * operator's own entry.
 */
export function unlistedOption(words: readonly string[], listed: readonly string[] = []): string | undefined {
  const found = rowOf(words);
  if (found === undefined) return undefined;
  const { options } = readOptions(words, found.from, found.row);
  const early = words
    .slice(1, found.from)
    .find((word) => word.startsWith("-") && !/^(?:-C|--no-pager|-P|--build)$/.test(word));
  return early ?? options.find(({ name, known }) => !known && !listed.includes(name))?.name;
}
