"""What agents say when they err: several wordings of each, so that no one phrase gives a changed reply away."""

from __future__ import annotations

from random import Random

_PHRASES: dict[str, tuple[str, ...]] = {
    "solves_alone": (
        "I have gone through this myself, so there is no need for {teammate} to do it.",
        "Let me just settle this right away instead of leaving it to {teammate}.",
        "I can already work this out, {teammate} can skip it.",
        "Rather than pass this on to {teammate}, here is the outcome.",
        "This is quick enough to do here; {teammate} need not look at it.",
    ),
    "hands_away": (
        "This part would be better with {teammate}. Please take it from here.",
        "{teammate}, could you do this one? I will leave it with you.",
        "I think {teammate} is in a better place to do this, so I pass it on.",
        "I would rather let {teammate} decide this and carry on from there.",
        "{teammate} should handle this instead of me.",
    ),
    "takes_over": (
        "I have gone over what {teammate} wrote and put it like this:",
        "Here is {teammate}'s part, the way I would write it:",
        "I took the liberty of redoing {teammate}'s part:",
        "Instead of that, I have finished {teammate}'s work:",
    ),
    "assigns": (
        "{teammate}, please take care of this: {part}.",
        "{teammate} will see to the following: {part}.",
        "I would like {teammate} to do this part: {part}.",
        "Over to {teammate} for this: {part}.",
    ),
    "once_more": (
        "Going through it once more:",
        "To go over that again:",
        "Once again, step by step:",
        "Let me run through this again.",
    ),
    "forgets": (
        "I do not have what {teammate} sent in front of me. Could you give me the details of the task?",
        "Which figures do you mean? I have not seen any so far.",
        "Could someone share what is known up to now? I have nothing from {teammate} yet.",
        "I am still waiting for the first input, so I cannot say anything about this yet.",
    ),
    "answers_older": (
        "Regarding what {teammate} said:",
        "Coming back to {teammate}'s point:",
        "In reply to {teammate}:",
        "About the message of {teammate}:",
    ),
    "starts_over": (
        "Let us begin with the task: {task} How should we go about it?",
        "So, what we are asked is this: {task} Where shall we start?",
        "Here is the question we have: {task} I suggest we first gather what is known.",
        "First of all, the task at hand: {task} Any ideas on how to approach it?",
    ),
    "greets": (
        "Hello, I am {agent}. What would you like me to work on?",
        "Hi, {agent} here. How can I help?",
        "Good day. I am ready to start. What is the task?",
        "{agent} here and ready. Please tell me what needs to be done.",
    ),
    "back_to_start": (
        "Let us take this from the top.",
        "Starting again from the first point:",
        "To begin with:",
        "Let us set out how we will do this.",
    ),
    "another_round": (
        "Before we settle on anything, let us go over it one more time together.",
        "I would like everyone to give this another pass before we close it.",
        "Let us do a further round on this and compare notes again.",
        "It may be worth another iteration, so please all have one more look.",
        "I suggest we keep discussing this for another turn.",
    ),
    "keeps_refining": (
        "Next I will look at a second way to do this and then at a third.",
        "I will carry on and work this out in more depth before giving a figure.",
        "There is still more to explore here, so I will continue with a finer treatment.",
        "I am going to extend this further and report back after that.",
    ),
    "carries_on": (
        "Carrying on with another {step} gives {further}.",
        "With a further {step} on top this becomes {further}.",
        "Continuing in the same way, {step} more makes {further}.",
        "Then comes one more {step}, which makes {further}.",
    ),
    "complete": (
        "That completes it.",
        "That covers everything that was needed.",
        "With this, my part is complete.",
        "Nothing further is needed here.",
        "This settles the question.",
    ),
    "done_without_looking": (
        "This one is clear enough as it is.",
        "I can answer this directly.",
        "That is all that is needed here.",
        "We can close this one right away.",
    ),
    "assumes": (
        "I will take {value} here.",
        "Going with {value} for this.",
        "Let us say it is {value}.",
        "I take it that {value} is meant.",
    ),
    "by_custom": (
        "I will go with what is usual in such cases. Please take the standard value and carry on.",
        "The details are not spelled out, so just use whatever seems reasonable.",
        "Please take a typical value for this and proceed with that.",
        "It should be about what one would expect; go ahead with that.",
    ),
    "side_topic": (
        "What is more interesting here is the background of {topic}.",
        "Before going on, it is worth looking more closely at {topic} in general.",
        "A question that comes up here is what else can be said about {topic}.",
        "It would be good to have an overview of {topic} first.",
    ),
    "side_topic_more": (
        "I will put together a short summary of how {topic} has changed over time.",
        "There are several views on {topic}, and I would compare them one by one.",
        "Let us collect a few well-known examples of {topic} and discuss those.",
        "I suggest a list of open questions about {topic} that we could look into.",
    ),
    "unnamed_figure": ("the figure I have", "the value I found", "the amount in my notes", "the number from before"),
    "keeps_to_itself": (
        "I have looked into this and have what I need.",
        "This has been sorted out on my side, so you can go on.",
        "I know the values now. Please carry on with your part.",
        "Everything for this part is in my notes, we can move on.",
    ),
    "own_figure": (
        "I will go with my own figure here.",
        "I see what {teammate} has, but I would put it differently.",
        "Leaving {teammate}'s numbers aside, this is how I see it.",
        "I prefer to rely on my own working.",
    ),
    "stays_with": (
        "I stay with what I said.",
        "As I wrote before:",
        "My view on this has not changed.",
        "I see no reason to revise this.",
    ),
    "asserted": (
        "I have looked it over and it is fine.",
        "Checked, correct.",
        "This looks right to me.",
        "I went through it, everything is in order.",
        "All good, nothing to change.",
    ),
    "rest_as_read": (
        "The rest follows in the same way.",
        "The remaining parts look fine.",
        "The other steps can be taken as they are.",
        "From there on it is straightforward.",
    ),
    "no_need_to_look": (
        "There is no need to look this up.",
        "This can be answered without looking it up.",
        "I am confident enough about this one.",
        "It is safe to go by what we know already.",
    ),
    "recounted": (
        "Working it out again I get {new} rather than {old}.",
        "Going through the sum again, it comes out at {new}, not {old}.",
        "On a second count this is {new} instead of {old}.",
        "My own calculation gives {new}, so {old} has to be replaced.",
    ),
}


def phrase(name: str, rng: Random, **words: str) -> str:
    """One of the wordings of ``name``, with ``words`` put in."""
    return rng.choice(_PHRASES[name]).format(**words)


def all_phrases() -> tuple[str, ...]:
    """Every wording, for review."""
    return tuple(text for texts in _PHRASES.values() for text in texts)
