import ArgumentParser
import ControlProtocol
import HostProxies
import KernelModel
import StatusDisplay
import Terminal

extension ProxySettingsText: ExpressibleByArgument {}

struct Proxy: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Show which proxy programs use for a URL, and why.",
    discussion: """
      Asks the running agent. A policy's own script is run for the URL in a process without privileges, by libpacparser; it cannot look \
      names up there. With --show, the proxies in use are printed as settings of a program that is given none by itself.

      Exit status: 0 success; 1 no proxies are published, or the script fails; 2 usage error; 8 the agent is not running.

      Example: `roamward proxy https://intranet.corp.example/`
      """)

  @OptionGroup var agent: AgentOptions
  @Argument(help: "URL that a program opens.") var url: String?
  @Option(
    help: ArgumentHelp("Print settings: environment, apt, git or podman.", valueName: "program"),
    completion: .list(ProxySettingsText.allCases.map(\.rawValue)))
  var show: ProxySettingsText?

  func validate() throws {
    if url != nil, show != nil { throw ValidationError("--show takes no URL") }
    if let url, ProxyTarget(url) == nil {
      throw ValidationError("\"\(url)\" is not a URL with a host, such as https://intranet.corp.example/")
    }
  }

  func run() throws {
    let report = try agent.status().proxies
    if let show { return try print(show, report) }
    guard let report else {
      write("no policy publishes proxies: programs use their own settings\n")
      throw ExitStatus.refused
    }
    guard let target = url.flatMap({ ProxyTarget($0) }) else { return write(report.lines.map { $0 + "\n" }.joined()) }
    write(try answer(for: target, by: report).map { $0 + "\n" }.joined())
  }

  private func print(_ settings: ProxySettingsText, _ report: ProxiesReport?) throws {
    let lines = settings.lines(report?.rules)
    write(lines.map { $0 + "\n" }.joined())
    guard lines.isEmpty else { return }
    let reason =
      report?.script == .own ? "\(report?.tunnel ?? "")'s own script decides for each URL" : "no tunnel with proxies is connected"
    writeError("roamward: no proxy to print: \(reason)\n")
    throw ExitStatus.refused
  }

  private func answer(for target: ProxyTarget, by report: ProxiesReport) throws -> [String] {
    let source = report.tunnel.map { "\($0)'s" } ?? ""
    switch report.script {
    case .direct: return [target.url, "  no proxy, because no tunnel with proxies is connected"]
    case .rules:
      guard let rules = report.rules else { return [target.url] }
      switch rules.choice(scheme: target.scheme, host: target.host) {
      case .direct(let reason): return [target.url, "  no proxy, because \(reason) (\(source) proxies)"]
      case .proxy(let server, let reason): return [target.url, "  \(server), because it is \(reason) (\(source) proxies)"]
      }
    case .own:
      do throws(ScriptEvaluation.Failure) {
        let script = try ScriptEvaluation.servedScript()
        let result = try ScriptEvaluation.run(script, url: target.url, host: target.host)
        return [target.url, "  \(result), because \(source) own script returns that"]
      } catch {
        writeError("roamward: \(error)\n")
        throw ExitStatus.refused
      }
    }
  }
}

extension ProxiesReport {
  fileprivate var lines: [String] {
    [
      address, "  script: \(text)", "  published to: \(publish.joined(separator: ", "))",
      "  files that name it: \(published.isEmpty ? "none" : published.joined(separator: ", "))",
    ] + environment.map { "  session: \($0)" }
  }
}
