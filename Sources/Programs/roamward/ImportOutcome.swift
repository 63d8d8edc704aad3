import NetworkTypes
import PolicyFiles
import PolicyImport
import Terminal

/// The result for one file.
struct ImportOutcome {
  let file: String
  var result: ImportResult?
  var written: [String] = []
  var failure: ImportFailure?
  /// Whether others could read the imported file, which the policy uses, and now cannot.
  var isMadePrivate = false

  init(file: String) { self.file = file }

  var hasErrors: Bool { failure != nil || result?.report.hasErrors == true || result?.tunnels.isEmpty == true }

  /// `isReported`: the report has been shown before.
  func print(isDryRun: Bool, isApplied: Bool, isReported: Bool = false) {
    if let result {
      if !isReported { write(result.report.text) }
      if failure == nil {
        let secrets = Set(result.files.filter(\.isSecret).map(\.name))
        for path in isDryRun ? result.files.map(\.name) : written {
          let isSecret = secrets.contains(path.split(separator: "/").last.map(String.init) ?? path)
          write("\(isDryRun ? "would write" : isApplied ? "active:" : "wrote") \(path)\(isSecret ? " (0600)" : "")\n")
        }
        if isMadePrivate { write("changed the mode of \(roamward.printed(file)) to 0600: it holds a private key\n") }
        let off = result.tunnels.count { !$0.isEnabled }
        write("\(counted(result.tunnels.count, "tunnel"))\(off > 0 ? ", \(off) of them disabled" : ""): \(result.report.summary)\n")
      }
    }
    if let failure {
      writeError("\(printed(file))\(failure.line.map { ":\($0)" } ?? ""): error: \(failure.message)\n")
      if let help = failure.help { writeError("  help: \(help)\n") }
    }
  }
}

/// A file name without unprintable characters.
func printed(_ name: String) -> String {
  replacingUnprintable(in: name) { _ in "\u{fffd}" }
}

/// `1 tunnel`, `3 tunnels`.
func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
