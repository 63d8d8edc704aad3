import Glibc
import LinuxIO
import NetworkTypes
import ProviderGroups
import Testing

/// A laptop in a lab of its own (`examples/walk/lab`), with policies, and an agent where a script starts one.
///
/// Everything happens in the lab's namespaces. They end with the value, and, as their first process waits for the end of a pipe from
/// here, with this process, however that ends.
final class Scene {
  let folder: String
  private let box: UnsafeMutablePointer<FILE>
  /// The lab's, as `lab enter` wants it.
  private var process = ""
  private var scripts = 0
  private let words: [String]

  /// Builds the lab, with these policy files (name: text) and the WireGuard configuration of its gateway beside them, as `corp.conf`.
  /// `words`: files beside `scene.bash` that scripts know as well.
  init(_ policies: [String: String] = ["corp.yaml": corp], words: [String] = []) throws {
    self.words = [Lab.words] + words.map { "\(Lab.folder)/\($0)" }
    var template = Array("/tmp/roamward-scene-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
    folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    chmod(folder, 0o755)
    let hold = "touch '\(folder)/ready'; exec cat"
    let command = "cd '\(folder)'; echo $$ >process; exec \(Lab.command) run sh -c \"\(hold)\" >lab.log 2>&1"
    guard let box = start(command, "we") else { throw SystemError.last("popen") }
    self.box = box
    let end = Moment.now + .seconds(600)
    while access("\(folder)/ready", F_OK) != 0 {
      guard Moment.now < end else { throw SceneFailure("the lab is not built: \(read("lab.log"))") }
      usleep(5_000)
    }
    process = read("process").filter(\.isNumber)
    for name in ["policies", "local", "state"] { mkdir("\(folder)/\(name)", 0o755) }
    for (name, text) in policies { try write("policies/\(name)", text) }
    try run("umask 077; \"$lab\" config >\"$policies/corp.conf\"")
  }

  deinit {
    // The groups of an agent that was not stopped: they have the number of the box's network namespace, which stays open until they are
    // gone, or else the kernel gives that number to the next scene.
    var status = stat()
    let namespace = open("/proc/\(process)/ns/net", O_RDONLY | O_CLOEXEC)
    pclose(box)
    if namespace >= 0, fstat(namespace, &status) == 0 { removeGroups("roamward-\(status.st_ino)") }
    close(namespace)
    // The rest is files alone; their names are ours.
    _ = popen("exec rm -rf '\(folder)'", "re").map { pclose($0) }
  }

  /// Plays a scene as the laptop: `Suite/name` is the file `Scenes/Suite/name.bash`, which reads `scene.bash` first. Gives what it wrote.
  /// A status other than 0 throws, with that. `values`: variables of its environment, for what differs between cases.
  @discardableResult
  func play(_ name: String, with values: KeyValuePairs<String, any CustomStringConvertible> = [:]) throws -> String {
    try output(of: name, finish(name, with: values))
  }

  /// As `play`, whatever the status.
  func finish(
    _ name: String, with values: KeyValuePairs<String, any CustomStringConvertible>
  ) throws -> (status: Int32, output: String) {
    let exports = values.map { "export \($0)=\(quoted("\($1)"))\n" }.joined()
    return try bash(exports + "source '\(Lab.folder)/\(name).bash'\n")
  }

  private func output(of scene: String, _ end: (status: Int32, output: String)) throws -> String {
    guard end.status != 0 else { return end.output }
    // The reasons first: a summary shows the beginning.
    let log = read("agent.log")
    let last = (end.output.lines.suffix(6) + log.lines.filter { $0.contains(" warning ") || $0.contains(" error ") }.suffix(3))
      .map { $0.prefix(300) }.joined(separator: "\n")
    throw SceneFailure(
      "status \(end.status) after:\n\(last)\nof:\n\(scene)\n\(end.output)\nthe end of the agent's log:\n\(log.suffix(16_000))")
  }

  /// Runs a script of bash as the laptop, with the words of `scene.bash`; gives what it wrote. A status other than 0 throws, with that.
  @discardableResult
  func run(_ script: String) throws -> String {
    try output(of: script, finish(script))
  }

  /// As `run`, whatever the status.
  func finish(_ script: String) throws -> (status: Int32, output: String) {
    try bash(self.words.map { "source '\($0)'\n" }.joined() + script + "\n")
  }

  private func bash(_ script: String) throws -> (status: Int32, output: String) {
    scripts += 1
    let file = "script-\(scripts).bash"
    let test = Test.current?.name ?? ""
    let words =
      "scene='\(folder)' bin='\(Lab.programs)' lab='\(Lab.script)' tests='\(Lab.folder)' test_name='\(test)' \(Lab.promises)\n"
    try write(file, words + script)
    // Into a file: a pipe would stay open as long as anything that the script has left running.
    let output = "output-\(scripts)"
    // It ends what hangs, and nothing else: a busy machine takes many times as long.
    let bash = "timeout --kill-after=2 1800 '\(Lab.script)' enter \(process) bash \(file)"
    let command = "cd '\(folder)'; exec \(bash) >\(output) 2>&1 </dev/null"
    guard let stream = start(command, "re") else { throw SystemError.last("popen") }
    let status = pclose(stream)
    return (status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f, read(output).trimmed)
  }

  /// A file of the scene's folder; empty where there is none.
  func read(_ name: String) -> String {
    (try? TextFile.read("\(folder)/\(name)", limit: 1 << 26)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Replaces a file of the scene's folder in one step.
  func write(_ name: String, _ text: String) throws {
    try TextFile.replace("\(folder)/\(name)", with: Array(text.utf8), mode: 0o644)
  }
}

/// A word of a shell.
private func quoted(_ text: String) -> String { "'\(text.replacing("'", with: #"'\''"#))'" }

/// Removes the control groups of this name below our own, once the processes in them have ended.
private func removeGroups(_ name: String) {
  guard let own = controlGroup(of: getpid()), let parent = try? OpenControlGroup.root().descendant(own), let left = try? parent.child(name)
  else { return }
  for _ in 0..<200 where left.isPopulated { usleep(20_000) }
  do throws(SystemError) { try parent.removeChild(name) } catch { Issue.record(error) }
}

/// popen(3) with no signal blocked: the threads of tests block most, and what is started would inherit that.
private func start(_ command: String, _ mode: String) -> UnsafeMutablePointer<FILE>? {
  var (none, before) = (sigset_t(), sigset_t())
  sigemptyset(&none)
  pthread_sigmask(SIG_SETMASK, &none, &before)
  defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
  return popen(command, mode)
}

struct SceneFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

extension String {
  fileprivate var trimmed: String {
    var text = self[...]
    while text.last?.isNewline == true { text.removeLast() }
    return String(text)
  }

  var lines: [String] { split(whereSeparator: \.isNewline).map(String.init) }
}
