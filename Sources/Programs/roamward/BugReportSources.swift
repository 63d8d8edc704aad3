import BugReport
import Glibc
import LinuxIO

/// A program whose output belongs in a bug report.
struct ReportSource {
  let file: String
  let program: String
  let arguments: [String]
  /// Whether secrets and names in the output stand after their names, so that they can be learnt from it.
  var isLearnt = false

  static let environment: [String] = {
    let path = getenv("PATH").map { String(cString: $0) } ?? ""
    return ["PATH=\(path):/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "NO_COLOR=1", "SYSTEMD_PAGER="]
  }()

  /// The sources of a report from this program itself.
  static func own(socket: String, policies: [String], _ sources: SourceOptions) -> [ReportSource] {
    let agent = ["--socket", socket]
    let paths = policies
    let policies = policies.flatMap { ["--policies", $0] }
    let machine =
      ["--resolv-conf", sources.resolvConf, "--state-dir", sources.stateDir] + (sources.ssidFile.map { ["--ssid-file", $0] } ?? [])
    let all: [(String, [String], Bool)] = [
      ("version.txt", ["--version"], false), ("status.txt", ["status"] + agent, false),
      ("status.json", ["status", "--json"] + agent, true),
      ("metrics.txt", ["metrics"] + agent, false), ("network.json", ["network", "--json"] + agent + machine, true),
      ("check.txt", ["check"] + agent + paths, false), ("plan.txt", ["plan"] + agent + policies + machine, false),
      ("evaluate.txt", ["evaluate"] + agent + policies + machine, false),
      ("state.txt", ["state"] + agent + machine, false), ("diff.txt", ["diff"] + agent + policies + machine, false),
      ("doctor.txt", ["doctor", "--verbose"] + agent + policies + machine, false),
    ]
    return all.map { ReportSource(file: $0, program: "/proc/self/exe", arguments: $1, isLearnt: $2) }
  }

  /// The sources from the system's programs: the network, the agent's unit and its log.
  static let system: [ReportSource] = [
    ReportSource(file: "uname.txt", program: "uname", arguments: ["-a"]),
    ReportSource(file: "ip-address.txt", program: "ip", arguments: ["-details", "address"]),
    ReportSource(file: "ip-rule-4.txt", program: "ip", arguments: ["-4", "rule"]),
    ReportSource(file: "ip-rule-6.txt", program: "ip", arguments: ["-6", "rule"]),
    ReportSource(file: "ip-route-4.txt", program: "ip", arguments: ["-4", "route", "show", "table", "all"]),
    ReportSource(file: "ip-route-6.txt", program: "ip", arguments: ["-6", "route", "show", "table", "all"]),
    ReportSource(file: "nft-roamward.txt", program: "nft", arguments: ["list", "table", "inet", "roamward"]),
    ReportSource(file: "resolvectl.txt", program: "resolvectl", arguments: ["--no-pager", "status"]),
    ReportSource(file: "unit.txt", program: "systemctl", arguments: ["--no-pager", "show", "roamwardd", "roamward-lock"]),
    ReportSource(
      file: "journal.txt", program: "journalctl",
      arguments: [
        "--no-pager", "--quiet", "--boot", "--lines=5000", "--output=short-iso-precise", "--unit=roamwardd", "--unit=roamward-lock",
      ]),
  ]

  func collect() -> CollectedFile {
    do throws(SystemError) {
      // The link leads to another program in a child.
      let program = program == "/proc/self/exe" ? Self.ownPath : program
      let run = try CapturedProgram(program, arguments, environment: Self.environment)
      let end = run.status.map { $0 == 0 ? "" : "(exit status \($0))\n" } ?? "(it did not end in time, or its output was too long)\n"
      let isDocument = file.hasSuffix(".json") && run.status == 0
      return CollectedFile(
        name: file, text: String(decoding: run.output, as: UTF8.self) + end, format: isDocument ? .json : .text, isLearnt: isLearnt)
    } catch {
      return CollectedFile(name: file, text: "(\(error))\n")
    }
  }

  private static var ownPath: String {
    guard let path = realpath("/proc/self/exe", nil) else { return "roamward" }
    defer { free(path) }
    return String(cString: path)
  }
}

/// A file of a bug report, before redaction.
struct CollectedFile {
  let name: String
  let text: String
  let format: ReportFormat
  var isLearnt = false
  /// Names of Wi-Fi networks, one on a line, which are not in the report.
  var networks = ""

  init(name: String, text: String, format: ReportFormat = .text, isLearnt: Bool = false) {
    self.name = name
    self.text = text
    self.format = format
    self.isLearnt = isLearnt
  }

  /// A file of the machine.
  init(reading path: String, as format: ReportFormat = .text) {
    do throws(SystemError) {
      let text = String(decoding: try TextFile.read(path, limit: 1 << 20), as: UTF8.self)
      self.init(name: Self.name(for: path), text: text, format: format, isLearnt: true)
    } catch {
      self.init(name: Self.name(for: path), text: "(\(error))\n")
    }
  }

  /// A file whose contents are not in the report: it may be a secret as a whole.
  init(withholding path: String) {
    let bytes = try? TextFile.read(path, limit: 1 << 20)
    self.init(name: Self.name(for: path), text: "(left out: \(bytes.map { "\($0.count) bytes" } ?? "not readable"))\n")
    if path.hasSuffix(".txt"), let bytes { networks = String(decoding: bytes, as: UTF8.self) }
  }

  /// `etc-roamward-policies-corp.yaml`.
  private static func name(for path: String) -> String {
    path.split(separator: "/").joined(separator: "-").filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
  }
}
