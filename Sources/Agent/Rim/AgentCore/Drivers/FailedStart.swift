internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// A start of a provider's program that never said `hello`.
struct FailedStart {
  private let failure: ProviderProtocol.TunnelFailure

  init(_ failure: ProviderProtocol.TunnelFailure) { self.failure = failure }

  /// A text for people that says what happened. `code`: the program's exit code, as a shell gives it.
  func text(code: Int32?, _ program: ProviderProgram) -> String {
    let path = program.path
    guard failure.code == "provider-ended", let code else {
      return "\(failure.text); see whether \(path) works, and speaks the provider protocol (\(failure.code))"
    }
    let (manner, cure) =
      switch code {
      case 126: ("with code 126", "\(program.user) may not execute it, or it is no program for this machine")
      case 127: ("with code 127", "its interpreter or a library is missing; `ldd \(path)` lists libraries")
      case 129...: ("by signal \(code - 128)", "run it by hand as \(program.user) to see why")
      default: ("with code \(code)", "run it by hand as \(program.user) to see why")
      }
    return "its program \(path) ended \(manner) before its `hello`: \(cure) (\(failure.code))"
  }
}
