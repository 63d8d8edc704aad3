import ArgumentParser
import GatewayCore
import GatewayStore
import Glibc
import NetworkTypes

@main
struct RoamwardGateway: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "roamward-gateway",
    abstract: "Run a WireGuard gateway, and manage who may use it.",
    discussion: """
      The store, the private key and the lock are in /var/lib/roamward-gateway. Commands that change something need root; a running \
      gateway applies their changes at once.

      Exit status: 0 success; 1 request refused, access denied or a problem found; 2 usage error.
      """,
    groupedSubcommands: [
      CommandGroup(
        name: "Gateway",
        subcommands: [Initialise.self, Serve.self, Forward.self, TakeOver.self, Cleanup.self, Pools.self, Sites.self]),
      CommandGroup(name: "Store", subcommands: [Store.self, Backup.self]),
      CommandGroup(
        name: "Users and devices", subcommands: [Users.self, Groups.self, Peers.self, Devices.self, SettingsCommand.self, Access.self]),
      CommandGroup(name: "Logins and page", subcommands: [Logins.self, Tokens.self, Sessions.self, Relay.self, Page.self]),
      CommandGroup(
        name: "Analysis", subcommands: [Status.self, Monitor.self, Metrics.self, Evaluate.self, Plan.self, Doctor.self, Audit.self]),
    ],
    defaultSubcommand: Status.self)

  // As `version:` in the configuration, each command would have the option.
  @Flag(help: "Show the version.") var version = false

  func validate() throws {
    if version { throw CleanExit.message(releaseVersion) }
  }

  static func main() {
    do {
      var command = try parseCommand(Array(CommandLine.arguments.dropFirst()))
      do {
        try command.run()
      } catch let error as ValidationError {
        throw Failure.usage(error.message)
      } catch let error where !(error is ExitCode) && !(error is Failure) && exitCode(for: error) == .failure {
        // Not the library's: an error of ours describes itself, with its remedy.
        throw Failure.refused("\(error)")
      }
    } catch let failure as Failure {
      writeError("roamward-gateway: \(failure.text)\n")
      exit(withError: failure.status)
    } catch  where exitCode(for: error) == .validationFailure {
      // The library's own status for it is 64.
      writeError(fullMessage(for: error) + "\n")
      exit(withError: ExitStatus.usage)
    } catch {
      if exitCode(for: error) == .success {
        let text = fullMessage(for: error)
        if !text.isEmpty { write(text.hasSuffix("\n") ? text : text + "\n") }
        exit()
      }
      exit(withError: error)
    }
  }
}

extension RoamwardGateway {
  /// Parses the arguments. A command that the first of them name is parsed by itself: on the way to it, the parser reads the
  /// declarations of all commands, and parses two of them, which takes longer than most changes. Where that fails, and for help, all is
  /// parsed, for its messages.
  private static func parseCommand(_ arguments: [String]) throws -> any ParsableCommand {
    var named: any ParsableCommand.Type = Self.self
    var rest = arguments[...]
    while let next = rest.first.flatMap({ subcommand($0, of: named) }) {
      named = next
      rest.removeFirst()
    }
    if named.configuration.subcommands.isEmpty, let command = try? named.parseAsRoot(Array(rest)), type(of: command) == named {
      return command
    }
    return try parseAsRoot(arguments)
  }

  private static func subcommand(_ word: String, of command: any ParsableCommand.Type) -> (any ParsableCommand.Type)? {
    command.configuration.subcommands.first { $0.configuration.commandName == word || $0.configuration.aliases.contains(word) }
  }
}

/// The exit statuses, as those of `roamward`.
enum ExitStatus {
  static let refused = ExitCode(1)
  static let usage = ExitCode(2)
}

/// A failure with the text that a person reads.
enum Failure: Error {
  case refused(String)
  case usage(String)

  var text: String {
    switch self {
    case .refused(let text), .usage(let text): text
    }
  }

  var status: ExitCode {
    switch self {
    case .refused: ExitStatus.refused
    case .usage: ExitStatus.usage
    }
  }
}

/// Writes to standard output at once, with terminal control characters escaped.
func write(_ text: String) { write(text, to: STDOUT_FILENO) }

func writeError(_ text: String) { write(text, to: STDERR_FILENO) }

func write(_ lines: [String]) { write(lines.map { $0 + "\n" }.joined()) }

private func write(_ text: String, to descriptor: Int32) {
  var rest = Array(escaped(text, keepingLines: true).utf8)[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    // A closed pipe ends the program quietly.
    guard count > 0 else { exit(errno == EPIPE ? 0 : 1) }
    rest = rest.dropFirst(count)
  }
}
