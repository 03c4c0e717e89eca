"""The rules that one provider has: what breaks each, and what is sent instead."""

from __future__ import annotations

from typing import Any

import anthropic_world as claude
import gemini_world as google
import pytest
import responses_world as openai
from chat_world import calls, result, said, user

from redraft.dialects import check, framed, repair
from redraft.dialects.frames import (
    BRIDGE,
    CONTINUE,
    FRAME,
    INTERRUPTED,
    NO_OUTPUT,
    NO_WORDS,
    OPENING,
    demoted,
)
from redraft.dialects.rules import (
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    GPT_CHAT,
    LLAMA,
    MISTRAL,
    OPENAI_RESPONSES,
    QWEN,
    Profile,
)
from redraft.dialects.rules_gemini import SKIP

Json = dict[str, Any]


def mended(profile: Profile, rule: str, *messages: Any) -> list[Any]:
    """The repaired list; the named rule is among those that were broken."""
    found = {violation.rule for violation in check(list(messages), profile)}
    assert rule in found
    return list(repair(list(messages), profile))


TASK = claude.user(claude.text("task"))
GO_ON = {"role": "user", "content": CONTINUE}


class TestAnthropic:
    def test_results_come_first_and_words_keep_their_message(self) -> None:
        """strands-agents/harness-sdk PR 4234."""
        asked = claude.said(claude.call("a"))
        mixed = claude.user(claude.text("also"), claude.result("a"))
        assert mended(ANTHROPIC, "results", TASK, asked, mixed) == [
            TASK,
            asked,
            claude.user(claude.result("a"), claude.text("also")),
        ]

    def test_results_may_be_spread_over_messages_in_any_order(self) -> None:
        messages = [
            TASK,
            claude.said(claude.call("a"), claude.call("b")),
            claude.user(claude.result("b")),
            claude.user(claude.result("a"), claude.text("also")),
        ]
        assert repair(messages, ANTHROPIC) is messages

    def test_a_missing_result_stands_in_a_message_of_its_own_before_the_users(self) -> None:
        asked, hurry = claude.said(claude.call("a")), {"role": "user", "content": "hurry"}
        done = mended(ANTHROPIC, "results", TASK, asked, hurry)
        assert done[3] is hurry
        (block,) = done[2]["content"]
        assert (block["tool_use_id"], block["content"]) == ("a", INTERRUPTED)

    def test_a_stray_result_becomes_framed_text_beside_the_users_words(self) -> None:
        """Hmbown/Codewhale#6119."""
        mixed = claude.user(claude.result("gone"), claude.text("words"))
        (done,) = mended(ANTHROPIC, "results", mixed)
        assert [block["text"] for block in done["content"]] == [framed("out"), "words"]

    @pytest.mark.parametrize(
        ("name", "new"), [("functions.bash:0", "functions_bash_0"), ("", "call_1")]
    )
    def test_ids_have_the_letters_that_the_api_knows(self, name: str, new: str) -> None:
        done = mended(
            ANTHROPIC,
            "call-ids",
            TASK,
            claude.said(claude.call(name)),
            claude.user(claude.result(name)),
        )
        assert done[1]["content"][0]["id"] == done[2]["content"][0]["tool_use_id"] == new

    def test_an_id_is_used_once_in_the_whole_list(self) -> None:
        """bug-ops/zeph#6501."""
        group = [claude.said(claude.call("a")), claude.user(claude.result("a"))]
        done = mended(ANTHROPIC, "call-ids", TASK, *group, *group)
        assert done[1] is group[0]
        assert done[3]["content"][0]["id"] == done[4]["content"][0]["tool_use_id"] == "a_2"

    @pytest.mark.parametrize("blank", ["", " \n"])
    def test_empty_text_goes_and_a_message_of_nothing_else(self, blank: str) -> None:
        last = claude.user(claude.text(blank), claude.text("x"))
        done = mended(
            ANTHROPIC,
            "texts",
            TASK,
            claude.said(claude.text(blank)),
            last,
            {"role": "user", "content": blank},
        )
        assert done == [
            TASK,
            claude.user(claude.text("x")),
            {"role": "user", "content": NO_WORDS},
        ]

    def test_a_result_that_reports_an_error_says_something(self) -> None:
        """HKUDS/nanobot PR 949."""
        failed = claude.result("a", "", is_error=True)
        done = mended(ANTHROPIC, "texts", TASK, claude.said(claude.call("a")), claude.user(failed))
        assert done[2]["content"][0]["content"] == NO_OUTPUT

    def test_an_empty_result_is_legal_for_anthropic_and_filled_for_bedrock(self) -> None:
        messages = [TASK, claude.said(claude.call("a")), claude.user(claude.result("a", ""))]
        assert repair(messages, ANTHROPIC) is messages
        assert mended(BEDROCK, "texts", *messages)[2]["content"][0]["content"] == NO_OUTPUT

    def test_a_thought_without_its_seal_goes_as_a_whole(self) -> None:
        """anomalyco/opencode PR 14393."""
        bare = {"type": "thinking", "thinking": "hm"}
        done = mended(ANTHROPIC, "whole-thoughts", TASK, claude.said(bare, claude.text("x")), TASK)
        assert done[1] == claude.said(claude.text("x"))

    def test_thoughts_stay_where_the_model_had_them(self) -> None:
        messages = [
            TASK,
            claude.said(claude.text("x"), claude.thought(), claude.call("a")),
            claude.user(claude.result("a")),
        ]
        assert repair(messages, ANTHROPIC) is messages

    def test_a_turn_of_thoughts_alone_is_not_sent(self) -> None:
        assert mended(ANTHROPIC, "thought-last", TASK, claude.said(claude.thought()), TASK) == [
            TASK,
            TASK,
        ]

    def test_the_list_begins_and_ends_with_the_user(self) -> None:
        answer = claude.said(claude.text("x"))
        assert mended(ANTHROPIC, "user-last", TASK, answer) == [TASK, answer, GO_ON]
        assert mended(ANTHROPIC, "user-first", answer, TASK)[0]["content"] == OPENING
        assert mended(ANTHROPIC, "user-first") == [{"role": "user", "content": OPENING}]

    def test_a_system_message_midway_keeps_its_words_with_less_authority(self) -> None:
        """bytedance/deer-flow PR 1300."""
        told = {"role": "system", "content": "Be brief."}
        assert mended(ANTHROPIC, "system", TASK, told)[1] == {
            "role": "user",
            "content": demoted("Be brief."),
        }

    def test_of_five_cache_marks_the_last_four_stay(self) -> None:
        mark = {"cache_control": {"type": "ephemeral"}}
        messages = [claude.user(claude.text(str(at), **mark)) for at in range(5)]
        done = mended(ANTHROPIC, "cache-marks", *messages)
        assert "cache_control" not in done[0]["content"][0]
        assert all(a is b for a, b in zip(done[1:], messages[1:], strict=True))

    def test_a_servers_call_without_its_result_goes_once_the_user_speaks_again(self) -> None:
        search = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
        paused = [TASK, claude.said(claude.text("x"), search)]
        assert repair(paused, ANTHROPIC) is paused
        done = mended(ANTHROPIC, "server-tools", *paused, TASK)
        assert done[1] == claude.said(claude.text("x"))

    def test_an_input_that_came_as_text_is_parsed_and_holds_no_half_of_a_character(self) -> None:
        """anthropics/claude-code#68325."""
        asked = claude.said(claude.call("a", input='{"x": "\\ud99c"}'))
        done = mended(ANTHROPIC, "inputs", TASK, asked, claude.user(claude.result("a")))
        assert done[1]["content"][0]["input"] == {"x": "\ufffd"}

    def test_a_result_that_is_put_in_ends_the_wait_of_a_servers_call(self) -> None:
        search = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
        done = mended(ANTHROPIC, "results", TASK, claude.said(search, claude.call("a")))
        assert done[1] == claude.said(claude.call("a"))
        assert check(done, ANTHROPIC) == []

    def test_code_on_the_server_may_call_the_client_before_it_answers(self) -> None:
        code = {"type": "server_tool_use", "id": "srv", "name": "code_execution", "input": {}}
        call = claude.call("a", caller={"type": "code_execution_20250825", "tool_id": "srv"})
        found = {"type": "code_execution_tool_result", "tool_use_id": "srv", "content": {}}
        messages = [TASK, claude.said(code, call), claude.user(claude.result("a"))]
        assert repair(messages, ANTHROPIC) is messages
        longer = [*messages, claude.said(found, claude.text("done")), TASK]
        assert repair(longer, ANTHROPIC) is longer

    def test_bedrock_wants_turns_that_alternate_and_gets_them_block_by_block(self) -> None:
        more = {"role": "user", "content": "more"}
        assert repair([TASK, more], ANTHROPIC) == [TASK, more]
        (one,) = mended(BEDROCK, "alternation", TASK, more)
        assert one == claude.user(claude.text("task"), claude.text("more"))
        assert one["content"][0] is TASK["content"][0]

    def test_bedrock_wants_short_ids(self) -> None:
        group = [claude.said(claude.call("x" * 65)), claude.user(claude.result("x" * 65))]
        name = mended(BEDROCK, "call-ids", TASK, *group)[1]["content"][0]["id"]
        assert len(name) == 64


class TestGemini:
    ASK = google.user(google.text("task"))
    SIGNED = google.call("bash", thoughtSignature="sig")

    def test_as_many_responses_as_calls_in_one_content(self) -> None:
        asked = google.model(self.SIGNED, google.call("bash"))
        apart = [google.user(google.result("1")), google.user(google.result("2"))]
        assert mended(GEMINI, "responses", self.ASK, asked, *apart)[2:] == [
            google.user(google.result("1"), google.result("2"))
        ]
        done = mended(GEMINI, "responses", self.ASK, asked, google.user(google.result("1")))
        missing = done[2]["parts"][1]["functionResponse"]
        assert missing == {"name": "bash", "response": {"error": INTERRUPTED}}

    def test_a_call_of_the_current_turn_that_lost_its_signature_gets_the_documented_value(
        self,
    ) -> None:
        """rowboatlabs/rowboat#694; an older turn needs none."""
        group = [google.model(google.call("bash")), google.user(google.result())]
        done = mended(GEMINI, "signatures", self.ASK, *group)
        assert done[1]["parts"][0]["thoughtSignature"] == SKIP
        older = [self.ASK, *group, google.model(google.text("x")), self.ASK]
        assert repair(older, GEMINI) is older

    def test_a_call_stands_in_one_content_right_behind_the_user(self) -> None:
        done = mended(
            GEMINI,
            "one-call-turn",
            self.ASK,
            google.model(google.text("x")),
            google.model(self.SIGNED),
            google.user(google.result()),
        )
        assert done[1] == google.model(google.text("x"), self.SIGNED)

    def test_empty_parts_go_unless_they_are_signed(self) -> None:
        signed = google.text("", thoughtSignature="sig")
        done = mended(GEMINI, "parts", self.ASK, google.model(google.text(""), signed), self.ASK)
        assert done[1] == google.model(signed)

    def test_the_first_content_is_the_users(self) -> None:
        """google-gemini/gemini-cli#11814."""
        group = [google.model(self.SIGNED), google.user(google.result())]
        assert mended(GEMINI, "user-opens", *group)[0] == google.user(google.text(OPENING))

    def test_a_response_carries_the_id_of_its_call(self) -> None:
        asked = google.model(google.call("bash", "c1", thoughtSignature="s"))
        done = mended(GEMINI, "response-names", self.ASK, asked, google.user(google.result()))
        assert done[2]["parts"][0]["functionResponse"]["id"] == "c1"

    def test_a_stray_response_keeps_its_images_and_no_empty_text(self) -> None:
        image = {"inlineData": {"mimeType": "image/png", "data": "x"}}
        stray = {"functionResponse": {"name": "f", "response": {"output": ""}, "parts": [image]}}
        (done,) = mended(GEMINI, "responses", google.user(stray))
        assert done["parts"] == [{"text": FRAME[0]}, image, {"text": FRAME[1]}]

    def test_roles_are_user_and_model(self) -> None:
        told = {"role": "system", "parts": [{"text": "Be brief."}]}
        done = mended(GEMINI, "roles", self.ASK, told)
        assert done[1] == google.user(google.text(demoted("Be brief.")))


class TestResponses:
    def test_reasoning_without_what_it_led_to_goes_as_a_whole(self) -> None:
        done = mended(OPENAI_RESPONSES, "reasoning", openai.user(), openai.thought(), openai.user())
        assert done == [openai.user(), openai.user()]

    def test_a_message_that_goes_takes_its_reasoning_and_the_ids_made_with_it(self) -> None:
        """openai/openai-agents-python#2727."""
        empty = {**openai.said(), "content": []}
        asked = openai.call()
        done = mended(
            OPENAI_RESPONSES,
            "messages",
            openai.user(),
            openai.thought(),
            empty,
            asked,
            openai.output(),
        )
        bare = {key: value for key, value in asked.items() if key != "id"}
        assert done == [openai.user(), bare, openai.output()]

    def test_each_call_has_an_output_of_its_kind_right_behind_the_run(self) -> None:
        """langchain#34282."""
        items = [openai.user(), openai.call("a"), openai.call("b"), openai.output("b")]
        done = mended(OPENAI_RESPONSES, "outputs", *items)
        assert done == [*items, openai.output("a", INTERRUPTED)]
        late = [openai.user(), openai.call("a"), openai.user("hurry"), openai.output("a")]
        assert mended(OPENAI_RESPONSES, "outputs", *late) == [late[0], late[1], late[3], late[2]]
        stray = mended(OPENAI_RESPONSES, "outputs", openai.user(), openai.output("x"))
        assert stray[1] == {"type": "message", "role": "user", "content": framed("out")}

    def test_what_the_servers_own_shell_put_out_is_part_of_the_run(self) -> None:
        box = {"type": "container_reference", "container_id": "c"}
        shell = {"type": "shell_call", "id": "sh", "call_id": "h", "environment": box, "action": {}}
        output = {"type": "shell_call_output", "id": "so", "call_id": "h", "output": []}
        items = [openai.user(), openai.call("a"), shell, output, openai.output("a")]
        assert repair(items, OPENAI_RESPONSES) is items
        assert OPENAI_RESPONSES.boundary(items, 5) == 1
        assert OPENAI_RESPONSES.boundary([openai.user(), shell, output], 3) == 3

    def test_call_ids_are_short(self) -> None:
        name = "x" * 65
        done = mended(
            OPENAI_RESPONSES, "call-ids", openai.user(), openai.call(name), openai.output(name)
        )
        assert done[1]["call_id"] == done[2]["call_id"]
        assert len(done[1]["call_id"]) == 64

    def test_an_item_that_stands_twice_gives_up_its_id_or_goes(self) -> None:
        items = [
            openai.user(),
            openai.said(),
            openai.said("more"),
            openai.search(),
            openai.search(),
        ]
        done = mended(OPENAI_RESPONSES, "item-ids", *items)
        assert "id" not in done[2]
        assert done[3:] == [openai.search()]

    def test_texts_have_the_type_of_their_role(self) -> None:
        wrong = {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}
        done = mended(OPENAI_RESPONSES, "message-members", openai.user(), wrong)
        assert done[1]["content"] == [{"type": "output_text", "text": "x"}]

    def test_items_of_a_type_that_nobody_knows_are_left_alone(self) -> None:
        items = [
            openai.user(),
            {"type": "from_the_future", "x": [1]},
            {"type": "item_reference", "id": "msg_9"},
        ]
        assert repair(items, OPENAI_RESPONSES) is items


S = {"role": "system", "content": "Be brief."}
NINE = "abcDEF123"


class TestTemplates:
    def test_mistral_wants_nine_letters_in_call_and_result(self) -> None:
        done = mended(
            MISTRAL, "nine-letters", user(), calls("call_1", NINE), result("call_1"), result(NINE)
        )
        first, second = (call["id"] for call in done[1]["tool_calls"])
        assert (len(first), first.isalnum(), second) == (9, True, NINE)
        assert [message["tool_call_id"] for message in done[2:]] == [first, NINE]

    def test_mistral_gets_a_word_of_the_models_between_a_result_and_the_user(self) -> None:
        """NousResearch/hermes-agent#20154."""
        done = mended(MISTRAL, "bridge", user(), calls(NINE), result(NINE), user("and?"))
        assert done[3:] == [said(BRIDGE), user("and?")]

    def test_mistral_goes_on_from_its_own_words_only_when_told(self) -> None:
        assert mended(MISTRAL, "last", user(), said("x"))[-1] == user(CONTINUE)
        told = [user(), said("x", prefix=True)]
        assert repair(told, MISTRAL) is told

    @pytest.mark.parametrize("profile", [MISTRAL, LLAMA])
    def test_neighbours_become_one_message_with_a_member_each(self, profile: Profile) -> None:
        """charmbracelet/crush#279."""
        (system, one) = mended(profile, "alternation", S, user("reminder"), user("hello"))
        assert system is S
        assert [member["text"] for member in one["content"]] == ["reminder", "hello"]

    def test_neighbours_that_say_nothing_become_one_that_says_nothing(self) -> None:
        assert mended(LLAMA, "alternation", user(""), user("")) == [user("")]

    @pytest.mark.parametrize("profile", [MISTRAL, LLAMA, QWEN])
    def test_a_system_message_stands_first_and_alone(self, profile: Profile) -> None:
        developer = {"role": "developer", "content": "Be kind."}
        done = mended(
            profile,
            "system-first",
            S,
            developer,
            user(),
            said("x"),
            S,
        )
        assert done[0] == {"role": "system", "content": "Be brief.\n\nBe kind."}
        assert demoted("Be brief.") in str(done[3]["content"]).replace("\\n", "\n")
        assert [message["role"] for message in done].count("system") == 1

    def test_llama_makes_one_call_a_message(self) -> None:
        parallel = calls("a", "b")
        one, two = parallel["tool_calls"]
        done = mended(LLAMA, "one-call-each", user(), parallel, result("b", "2"), result("a", "1"))
        assert [message.get("tool_calls") for message in done] == [None, [one], None, [two], None]
        assert [message["content"] for message in done[2::2]] == ["1", "2"]

    def test_qwen_needs_a_word_of_the_users(self) -> None:
        done = mended(QWEN, "user-anywhere", S, calls("a"), result("a"))
        assert done[1] == user(OPENING)

    def test_images_in_results_move_into_a_users_message_behind_the_round(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
        done = mended(
            GPT_CHAT, "tool-images", user(), calls("a", "b"), result("a", [image]), result("b")
        )
        assert done[2]["content"] == NO_OUTPUT
        first, last = ({"type": "text", "text": line} for line in FRAME)
        assert done[4] == {"role": "user", "content": [first, image, last]}
