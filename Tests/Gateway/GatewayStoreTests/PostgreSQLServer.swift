import GatewayPostgreSQL
import GatewayStore
import Glibc
import LinuxIO
import NetworkTypes
import Synchronization
import TestSupport

/// A server of PostgreSQL for the tests of this process, without privileges, in a temporary folder, on a unix socket alone. It ends with
/// this process, however that ends: then the pipe that it reads from is closed.
final class PostgreSQLServer: Sendable {
  /// `nil`: there is no PostgreSQL on this machine, or no user for it.
  static let shared = PostgreSQLServer()

  private let folder: String
  private let count = Mutex(0)

  private init?() {
    guard geteuid() == 0, let programs = try? shell("ls -d /usr/lib/postgresql/*/bin | tail -1").dropLast(), !programs.isEmpty,
      getpwnam("postgres") != nil, let folder = try? shell("mktemp --directory /tmp/roamward-postgresql.XXXXXX").dropLast()
    else { return nil }
    self.folder = String(folder)
    let script = """
      exec >/dev/null 2>&1
      cd '\(folder)' && chown postgres . && chmod 0755 .
      as="setpriv --reuid=postgres --regid=postgres --clear-groups env -i LC_ALL=C"
      $as '\(programs)/initdb' --auth=trust --username=gateway --encoding=UTF8 --no-sync --pgdata=data
      $as '\(programs)/postgres' -D data -k '\(folder)' -c listen_addresses= -c fsync=off -c autovacuum=off &
      read -r _
      kill -QUIT $!
      wait
      cd / && rm -rf '\(folder)'
      """
    // The pipe's end is not inherited by other programs.
    guard popen("/bin/sh -c '\(script.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'", "we") != nil
    else { return nil }
  }

  /// An empty database of its own, and a way to open it again.
  func database() throws -> String {
    let name = count.withLock { count in
      count += 1
      return "test\(count)"
    }
    let deadline = Moment.now + .seconds(600)
    while true {
      do {
        let engine = try PostgreSQLEngine("host=\(folder) user=gateway dbname=postgres")
        try engine.run("CREATE DATABASE \(name)", [])
        return "host=\(folder) user=gateway dbname=\(name)"
      } catch {
        if Moment.now >= deadline { throw error }
        usleep(50_000)
      }
    }
  }
}
