import Glibc
import LinuxIO
import NetworkTypes

/// A line about a server that nothing is known of. This program reads none of its bytes: the one of our provider connects, without
/// privileges.
enum StrangersReading {
  enum Failure: Error {
    /// It did not end in time.
    case late
    case impossible(String)
  }

  /// Runs it with these arguments; returns the bytes that it prints.
  static func bytes(_ arguments: [String], within limit: Duration, longest: Int) throws(Failure) -> [UInt8] {
    let program = ownProgram("roamward-provider")
    guard access(program, X_OK) == 0 else {
      throw .impossible("roamward-provider is not installed; install the packages roamward-providers and roamward-client")
    }
    let run: CapturedProgram
    do throws(SystemError) {
      run = try CapturedProgram(
        program, arguments, environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], limit: limit, longest: longest)
    } catch {
      throw .impossible(error.description)
    }
    guard let status = run.status else { throw .late }
    guard status == 0 else { throw .impossible("roamward-provider ended with status \(status)") }
    return run.output
  }
}
