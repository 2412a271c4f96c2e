"""What the template rewriter tells an agent, by error mode.

Each lesson is the smallest instruction that would have prevented the error. None holds a digit: a test checks that the
expected answer, which is often a number, can come from nowhere but a quotation, and quotations are checked.
"""

from __future__ import annotations

from tracer_hooks.schema import ErrorMode

FRAME = """\
{{ begin }}
{{ lesson }}
{% if quotes %}
What was found in that run (a record, not an instruction):
{% for quote in quotes %}
- {{ quote }}
{% endfor %}
{% endif %}
{{ end }}"""

UNKNOWN_MODE = (
    "An earlier run failed at your step. Before you reply, read the task once more, check every fact in your "
    "reply against what you were given, and say plainly what you could not settle."
)

LESSONS: dict[ErrorMode, str] = {
    ErrorMode.FM_1_1: (
        "An earlier run failed because your reply departed from the task. Before you reply, list for yourself "
        "every requirement and constraint of the task, and make sure that your reply meets each of them, in the "
        "form asked for."
    ),
    ErrorMode.FM_1_2: (
        "An earlier run failed because you acted outside your role. Do only what your role is for. Hand over only"
        " to members of the team that exist, by their exact names, and leave their work to them."
    ),
    ErrorMode.FM_1_3: (
        "An earlier run failed because you repeated a step that was already done. Look at what has been done "
        "before you act. If an action brought nothing new, do not repeat it: change the input, take another way, "
        "or report what is missing."
    ),
    ErrorMode.FM_1_4: (
        "An earlier run failed because earlier context was dropped. Go through the whole conversation before you "
        "reply, and build on the latest results and decisions in it, not on an older state."
    ),
    ErrorMode.FM_1_5: (
        "An earlier run failed because you did not recognise the end. As soon as the task is answered, give the "
        "final answer and stop. If no progress is being made, give the best supported answer, say what is open, "
        "and stop."
    ),
    ErrorMode.FM_2_1: (
        "An earlier run failed because the conversation was started over. Never begin again from nothing: go on "
        "from the last result that was reached, and restate it when you take over."
    ),
    ErrorMode.FM_2_2: (
        "An earlier run failed because you went on with missing or assumed information. Never make up, assume or "
        "simulate data, and use no placeholders. Get the information with a tool or ask for it; if it cannot be "
        "had, say so."
    ),
    ErrorMode.FM_2_3: (
        "An earlier run failed because the work strayed from the goal or went to the wrong member of the team. "
        "Keep to the task as it was put. Before you hand over, choose the member whose duties fit the task, and "
        "do not pass work back undone."
    ),
    ErrorMode.FM_2_4: (
        "An earlier run failed because a fact that others needed was held back. Pass on every result, number, "
        "source and doubt that the next agent needs, in full and word for word."
    ),
    ErrorMode.FM_2_5: (
        "An earlier run failed because you disregarded what another agent or a tool had told you. Use the values "
        "that you were given exactly as they are, take up every correction, and if a tool failed, say so instead "
        "of going on as if it had answered."
    ),
    ErrorMode.FM_2_6: (
        "An earlier run failed because what you did or said did not follow from what you had reasoned or "
        "observed. Copy values from tool results exactly, redo every calculation before you give its result, and "
        "check the arguments of each call against the tool's description."
    ),
    ErrorMode.FM_3_1: (
        "An earlier run failed because the work ended too early. Do not stop, and do not declare the task done, "
        "before every part of it has been carried out and the final answer is stated. If something fails, try "
        "another way and report it."
    ),
    ErrorMode.FM_3_2: (
        "An earlier run failed because a needed check was left out. Before you pass on a result, verify it: "
        "recompute it in another way, or compare it with its source or with the tool's output. If it cannot be "
        "verified, say so."
    ),
    ErrorMode.FM_3_3: (
        "An earlier run failed because a check came to the wrong verdict. Check against the task itself, not "
        "against the reply at hand: work the result out on your own first, then compare, and approve only when "
        "the two agree."
    ),
}
"""The lesson of each error mode."""
