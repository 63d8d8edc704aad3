internal import Glibc
internal import PolicyFiles

extension ProviderError {
  /// Refuses a program or a file that an agent that runs as root must not use, because others could have written it. Policies were checked
  /// when they were read (docs/policy-reference.md); this looks again at the moment of use.
  static func checkTrust(in name: String, for use: String) throws(ProviderError) {
    let folders = getenv("PATH").map { String(cString: $0).split(separator: ":").map(String.init) } ?? PolicyFileSystem.standardPath
    guard geteuid() == 0, let path = PolicyFileSystem.linux.program(named: name, on: folders) else { return }
    let refusal: FileFailure?
    // A missing program is no refusal: its start fails, with the reason.
    do throws(FileFailure) { refusal = try PolicyFileSystem.linux.refusal(ofPath: path) } catch { return }
    if let refusal { throw ProviderError("\(use): \(path) is refused: \(refusal.reason)", help: refusal.cure) }
  }
}
